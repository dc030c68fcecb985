"""The ledger of submissions: a chain of rows in SQLite, what is kept beside it, and its verification."""
