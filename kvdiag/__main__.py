"""`python -m kvdiag` is `kvdiag`."""

from kvdiag.cli.main import run

if __name__ == "__main__":
    run()
