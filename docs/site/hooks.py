"""What the site has beyond docs/: the front page, the operators' pages, and the files that pages link to."""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Pages that lie elsewhere in the repository, by their places in the site.
ELSEWHERE = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
ELSEWHERE.update({f"operators/{p.parent.name}.md": p.relative_to(ROOT).as_posix() for p in sorted(ROOT.glob("operators/*/README.md"))})
PLACES = {source: place for place, source in ELSEWHERE.items()}
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files, config):
    for place, source in ELSEWHERE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    for page in list(files.documentation_pages()):
        for link in LINK.finditer(page.content_string):
            place = place_of(target_of(page.src_uri, link[1]))
            if place.startswith("_source/") and files.get_file_from_path(place) is None:
                path = ROOT / target_of(page.src_uri, link[1])
                if path.is_file():  # what is not there is told of as a broken link
                    files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    place = page.file.src_uri

    def moved(link):
        to = posixpath.relpath(place_of(target_of(place, link[1])), posixpath.dirname(place) or ".")
        return f"]({to}{link[2] or ''})"

    return LINK.sub(moved, markdown)


def target_of(place, link):
    """The file of the repository that a link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(ELSEWHERE.get(place, "docs/" + place)), link))


def place_of(target):
    """Where a file of the repository is in the site; what is no page of it lies below _source/, which Go takes for no package."""
    if (ROOT / target).is_dir():
        target = min(p.relative_to(ROOT).as_posix() for p in (ROOT / target).glob("*.md"))
    if target in PLACES:
        return PLACES[target]
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return "_source/" + target + (".txt" if target.endswith(".md") else "")
