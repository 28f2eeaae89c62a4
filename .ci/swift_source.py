"""Swift source without comments and string literals, for the checks in this directory."""

import pathlib


def files(directory):
    """The Swift files below a directory, in order."""
    return sorted(pathlib.Path(directory).rglob("*.swift"))


def code(text):
    """The text with comments removed and each string literal replaced by an empty one. Lines stay where they are."""
    kept = []
    position = 0
    while position < len(text):
        if text.startswith("//", position):
            position = _end_of_line(text, position)
        elif text.startswith("/*", position):
            position = _skip(text, position, _end_of_comment(text, position), kept)
        elif text[position] in '"#' and (end := _end_of_string(text, position)):
            kept.append('""')
            position = _skip(text, position, end, kept)
        else:
            kept.append(text[position])
            position += 1
    return "".join(kept)


def _skip(text, start, end, kept):
    kept.append("\n" * text.count("\n", start, end))
    return end


def _end_of_line(text, position):
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _end_of_comment(text, position):
    """Comments nest in Swift."""
    depth = 0
    while position < len(text):
        if text.startswith("/*", position):
            depth, position = depth + 1, position + 2
        elif text.startswith("*/", position):
            depth, position = depth - 1, position + 2
            if depth == 0:
                return position
        else:
            position += 1
    return position


def _end_of_string(text, position):
    """The end of the literal that begins here; None when none begins. One that is not closed ends with its line."""
    hashes = 0
    while text.startswith("#", position + hashes):
        hashes += 1
    start = position + hashes
    if not text.startswith('"', start):
        return None
    quotes = '"""' if text.startswith('"""', start) else '"'
    closing, escape = quotes + "#" * hashes, "\\" + "#" * hashes
    position = start + len(quotes)
    while position < len(text):
        if text.startswith(escape + "(", position):
            position = _end_of_interpolation(text, position + len(escape))
        elif text.startswith(escape, position):
            position += len(escape) + 1
        elif text.startswith(closing, position):
            return position + len(closing)
        elif quotes == '"' and text[position] == "\n":
            return position
        else:
            position += 1
    return position


def _end_of_interpolation(text, position):
    depth = 0
    while position < len(text):
        if text[position] in '"#' and (end := _end_of_string(text, position)):
            position = end
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
        if depth == 0:
            break
    return position
