"""`python -m procession.cli`, where the script is not on the path."""

from procession.cli.commands import main

main(prog_name="procession")
