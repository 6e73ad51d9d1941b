r"""Control characters are shown as escapes, and nesting is counted without recursion."""

from ordinality._text import nested_deeper, visible


def test_control_characters_are_escaped_except_those_to_keep():
    assert visible("\x1b[2Jlow\u202e\n", keep="\n") == "\\x1b[2Jlow\\u202e\n"
    assert visible("naïve “low” 低") == "naïve “low” 低"


def test_nesting_counts_lists_and_dicts():
    assert not nested_deeper({"a": [[1]]}, 3)
    assert nested_deeper({"a": [[1]]}, 2)
    deep = []
    for _ in range(10_000):  # more than the interpreter's limit of recursion
        deep = [deep]
    assert nested_deeper(deep, 5_000)
