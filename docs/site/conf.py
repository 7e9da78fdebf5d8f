# Sphinx: how ci/site makes the site. Sphinx, the theme and the reader of Markdown are Debian packages, which install in seconds;
# mdbook, built by cargo, took 2 min 43 s on two cores. Search works from a file, without a server.
import os

project = "gasnet-sci"
html_title = "gasnet-sci"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 5
html_theme = "furo"
html_show_search_summary = False  # it would need a server
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scorer.js")
highlight_language = "none"
suppress_warnings = ["myst.header", "misc.highlighting_failure"]


def setup(app):
    """Long names may break after an underscore, and paths and lists after their signs: <wbr> in text outside of blocks of code."""
    import re

    def breakable(html):
        parts = re.split(r"(<pre.*?</pre>|<svg.*?</svg>|<[^>]*>)", html or "", flags=re.S)
        words = r"[\w./,{}-]{17,}"
        return "".join(part if part.startswith("<") else re.sub(words, lambda word: re.sub(r"([_/,])(?=\w)", r"\1<wbr>", word[0]), part) for part in parts)

    def in_page(app, page, template, context, tree):
        for name in ("body", "furo_navigation_tree"):
            context[name] = breakable(context.get(name))

    app.connect("html-page-context", in_page, priority=900)  # after the theme, which makes the navigation
