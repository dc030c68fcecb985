"""Run the command line: `python -m unseen`."""

from unseen import main

if __name__ == "__main__":
    main()
