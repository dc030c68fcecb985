"""Images and what is made of them: files, operations, sets, sources, and classes by meaning."""
