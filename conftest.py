"""Makes the rows of the matrix pytest items, also where the project is not installed.

Installed, the entry point of the same name has loaded the plugin already, and pytest registers one
name once.
"""

pytest_plugins = ["matrix.plugin"]
