"""The ledger of submissions: a chain of rows in SQLite, the submitted files, and verification."""
