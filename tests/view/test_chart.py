"""Times against sizes, as text and as SVG."""

from __future__ import annotations

from itertools import pairwise
from xml.dom.minidom import Document, parseString

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.view.chart import Axis, Chart
from weft.view.svg_chart import LABEL_ROOM, chart_svg, spread
from weft.view.text_chart import chart_text

TWO = Chart(
    "two lines",
    (4, 64, 1024, 16384),
    {"steady": (20_000_000,) * 4, "growing": (5_000_000, 10_000_000, 40_000_000, 300_000_000)},
    ("growing", "growing", "steady", "steady"),
)
TWO_AS_TEXT = """\
   1 ms |
        |
        |                           bbbb
 100 us |                       bbbb
        |                   bbbb
        |aaaaaaaaaaaaabbaaaaaaaaaaaaaaaa
  10 us |     bbbbbbbb
        |bbbbb
        |
   1 us |
        +-------------------------------
         4         64        1K      16K
fastest  bbbbbbbbbbbbbbbbaaaaaaaaaaaaaaa

a steady   b growing"""

names = st.text(min_size=1, max_size=40)
times = st.integers(0, 10**14)


@st.composite
def charts(draw: st.DrawFn) -> Chart:
    sizes = sorted(draw(st.sets(st.integers(1, 1 << 40), min_size=2, max_size=20)))
    line = st.lists(times, min_size=len(sizes), max_size=len(sizes))
    lines = draw(st.dictionaries(names, line, min_size=1, max_size=24))
    winners = [min(lines, key=lambda name: lines[name][at]) for at in range(len(sizes))]
    return Chart(draw(names), sizes, lines, winners)


def parsed(chart: Chart) -> Document:
    return parseString(chart_svg(chart))  # noqa: S318 - it is our own


def texts(document: Document, tag: str) -> list[str]:
    found = document.getElementsByTagName(tag)
    return ["".join(str(child.nodeValue) for child in each.childNodes) for each in found]


def test_two_lines_as_text():
    assert chart_text(TWO, 40) == TWO_AS_TEXT


def test_of_equal_lines_the_winner_is_seen():
    same = dict.fromkeys(("one", "two", "three"), (5, 50))
    drawn = chart_text(Chart("equal", (1, 2), same, ("two", "two")))
    assert set(drawn.split("+---")[0]) == set("0 1 ps|b\n")


@given(chart=charts(), width=st.integers(0, 200))
def test_text_fits_its_width(chart, width):
    """But for a name that alone is longer."""
    drawn = chart_text(chart, width).split("\n\na ")[0]
    assert max(map(len, drawn.split("\n"))) <= max(width, 40)


@given(chart=charts(), width=st.integers(40, 200))
def test_the_strip_tells_who_wins_at_the_ends(chart, width):
    letters = dict(zip(chart.lines, "abcdefghijklmnopqrstuvwxyz", strict=False))
    strip = next(
        line for line in chart_text(chart, width).split("\n") if line.startswith("fastest")
    )
    assert len(strip) == max(width, 40)
    seen = strip.split()[1]
    assert set(seen) <= {letters[name] for name in chart.winners}


@given(chart=charts())
def test_svg_is_xml_and_names_everyone_whatever_the_names(chart):
    document = parsed(chart)
    said = texts(document, "text")
    for text in (chart.title, *chart.lines):
        assert "".join(c if c.isprintable() else " " for c in text) in said
    assert len(document.getElementsByTagName("polyline")) == len(chart.lines)


def test_svg_escapes_what_it_is_told():
    nasty = '<script>alert("x")</script>&\x00\ud800'
    svg = chart_svg(Chart(nasty, (1, 2), {nasty: (1, 2)}, (nasty, nasty)))
    assert "<script" not in svg
    svg.encode()
    assert texts(parseString(svg), "title")[0] == nasty.replace("\x00", " ").replace("\ud800", " ")  # noqa: S318


def test_svg_needs_nothing_but_itself():
    svg = chart_svg(TWO)
    assert svg.count("http") == svg.count('xmlns="http://www.w3.org/2000/svg"') == 1
    assert "prefers-color-scheme:dark" in svg


def test_sizes_and_times_stand_in_words():
    said = texts(parsed(TWO), "text")
    assert {"4 B", "64 B", "1 KiB", "16 KiB", "1 us", "10 us", "100 us", "1 ms"} <= set(said)


def test_who_wins_looks_different_from_who_else_wins():
    lines = {f"line {number}": (9, 9) for number in range(12)} | {"one": (1, 9), "two": (9, 1)}
    drawn = parsed(Chart("many", (1, 2), lines, ("one", "two"))).getElementsByTagName("polyline")
    looks = [(each.getAttribute("class"), each.getAttribute("stroke-dasharray")) for each in drawn]
    assert len(set(looks)) == len(looks)
    assert [look for look in looks if "best" in look[0]] == [
        ("line best s1", ""),
        ("line best s0", ""),
    ]


@given(wanted=st.lists(st.floats(62, 428), min_size=1, max_size=26).map(sorted))
def test_labels_keep_their_order_and_do_not_touch(wanted):
    places = spread(wanted)
    assert all(after - before >= LABEL_ROOM - 1e-6 for before, after in pairwise(places))
    assert places[0] >= LABEL_ROOM - 1e-6
    assert places[-1] <= 428 + 1e-6


def test_labels_with_room_stay_where_their_lines_end():
    assert spread([100, 130, 200]) == pytest.approx([100, 130, 200])
    assert spread([100, 100]) == pytest.approx([100 - LABEL_ROOM / 2, 100 + LABEL_ROOM / 2])


@given(low=st.integers(1, 10**9), factor=st.integers(2, 1000), steps=st.integers(1, 9))
def test_equal_factors_are_equal_ways_along_an_axis(low, factor, steps):
    axis = Axis(low, low * factor**steps)
    shares = [axis.share(low * factor**step) for step in range(steps + 1)]
    assert shares == pytest.approx([step / steps for step in range(steps + 1)])


@given(chart=charts())
def test_the_time_axis_holds_all_times_between_powers_of_ten(chart):
    for line in chart.lines.values():
        assert all(-1e-9 <= chart.time_axis.share(time) <= 1 + 1e-9 for time in line)
    assert [chart.time_axis.share(time) for time in chart.ticks] == sorted(
        chart.time_axis.share(time) for time in chart.ticks
    )
    assert {chart.time_axis.low, chart.time_axis.high} <= set(chart.ticks)


@given(chart=charts())
def test_the_strip_goes_from_end_to_end(chart):
    ends = [end for _, *both in chart.strip for end in both]
    assert (ends[0], ends[-1]) == (0, 1)
    assert ends[1:-1:2] == ends[2::2]
    assert all(left != right for (left, *_), (right, *_) in pairwise(chart.strip))
