"""The functions of `import unseen`: competitions, methods and their comparison as Python objects."""
