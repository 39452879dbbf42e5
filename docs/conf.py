"""The settings of Sphinx for the documentation site: make docs."""

import sys
from pathlib import Path

from podium import __version__

sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parents[1])]

project = "podium"
author = "the podium authors"
release = version = __version__
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb", "podium_pages"]
exclude_patterns = ["_ext"]

# Every reference must resolve. Types in docstrings are prose ("array of shape (n,)"), not links.
nitpicky = True
smartquotes = False  # keeps --option
default_role = "code"
numpydoc_xref_param_type = False
numpydoc_show_class_members = False
nitpick_ignore_regex = [("py:class", ".*"), ("py:obj", r".*\.[TV]")]  # bases and type variables
autodoc_typehints = "none"
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request"
}
autodoc_member_order = "bysource"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

html_theme = "pydata_sphinx_theme"
html_title = "podium"
html_static_path = ["_static"]
html_css_files = ["podium.css"]
html_show_sourcelink = False
html_copy_source = False
