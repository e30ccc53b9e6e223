"""A chart as SVG: one file that needs nothing else, on light pages and dark ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from statistics import fmean

from weft.units import size_text
from weft.view.chart import Chart

LEFT, RIGHT, TOP, BOTTOM = 84, 660, 62, 428  # of the lines
NAMES = RIGHT + 44
HEIGHT, LEAST_WIDTH = 530, 860
STRIP_TOP, STRIP_HEIGHT = 462, 22
LABEL_ROOM = 16  # from one label to the next
LETTER = 7.2  # as wide as one of a name, or less
TICK_ROOM = 58  # from one size to the next
DASHES = ("", "7 3", "2 3")

# Told apart by the colour-blind, after Okabe and Ito 2008: each for a light and for a dark page.
COLOURS = (
    ("#0072b2", "#5ab4f0"),
    ("#d55e00", "#ff8d4d"),
    ("#009e73", "#3fd0a4"),
    ("#b4508c", "#e796c6"),
    ("#b78100", "#f0b93c"),
    ("#3f9fd6", "#a5dcff"),
    ("#5f5f5f", "#b4b4b4"),
)


def chart_svg(chart: Chart) -> str:
    """Draw it; the names stand at the ends of their lines, and on the strip of who is fastest."""
    width = max(LEAST_WIDTH, NAMES + round(LETTER * max(map(len, chart.lines))) + 16)
    styles = {name: number for number, name in enumerate(chart.ranking)}
    parts = chain(
        _axes(chart), _lines(chart, styles), _line_labels(chart, styles), _strip(chart, styles)
    )
    title, room = _text(chart.title), f'width="{width}" height="{HEIGHT}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {room} viewBox="0 0 {width} {HEIGHT}">',
            f"<title>{title}</title>",
            f"<style>{_style(len(styles))}</style>",
            f'<rect class="page" {room}/>',
            f'<text class="title" x="{LEFT}" y="34">{title}</text>',
            *parts,
            "</svg>\n",
        ]
    )


def _style(count: int) -> str:
    """Plain rules, without variables, which not all that turn SVG into something else know."""

    def colours(place: int) -> str:
        used = enumerate(pair[place] for pair in COLOURS[:count])
        return "".join(f".s{n}{{stroke:{colour}}}.f{n}{{fill:{colour}}}" for n, colour in used)

    return (
        "text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#333}"
        ".title{font-size:16px;font-weight:600}.name{font-weight:600}"
        ".page{fill:#fff}.grid{stroke:#e3e3e3}.frame{stroke:#888;fill:none}"
        ".line{fill:none;stroke-width:1.4;stroke-linejoin:round}.best{stroke-width:2.4}"
        ".leader{fill:none}.on{fill:#fff;font-weight:600}"
        ".middle{text-anchor:middle}.right{text-anchor:end}"
        + colours(0)
        + "@media(prefers-color-scheme:dark){text{fill:#ddd}.page{fill:#16181d}"
        ".grid{stroke:#2e3138}.on{fill:#16181d}" + colours(1) + "}"
    )


def _axes(chart: Chart) -> Iterator[str]:
    for time, text in chart.ticks.items():
        y = _y(chart, time)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        yield f'<text class="right" x="{LEFT - 8}" y="{y + 4:.1f}">{text}</text>'
    for size in _ticks(chart):
        x = _x(chart.size_axis.share(size))
        yield f'<path class="grid" d="M{x:.1f} {TOP}V{BOTTOM}"/>'
        yield f'<text class="middle" x="{x:.1f}" y="{BOTTOM + 18}">{_size_in_words(size)}</text>'
    yield f'<path class="frame" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>'
    yield f'<text class="right" x="{LEFT - 8}" y="{TOP - 14}">time</text>'
    yield (
        f'<text class="middle" x="{(LEFT + RIGHT) / 2}" y="{STRIP_TOP + STRIP_HEIGHT + 28}">'
        "size: what a rank gives or gets, whichever is more</text>"
    )


def _lines(chart: Chart, styles: Mapping[str, int]) -> Iterator[str]:
    for name in reversed(chart.ranking):  # who wins lies on top
        points = " ".join(
            f"{_x(chart.size_axis.share(size)):.1f},{_y(chart, time):.1f}"
            for size, time in zip(chart.sizes, chart.lines[name], strict=True)
        )
        best = " best" * (name in chart.winners)
        yield (
            f'<polyline class="line{best} s{_colour(styles[name])}"{_dashes(styles[name])} '
            f'points="{points}"><title>{_text(name)}</title></polyline>'
        )


def _line_labels(chart: Chart, styles: Mapping[str, int]) -> Iterator[str]:
    """Names beside the ends of their lines, as near as they find room, and a leader to each."""
    ends = sorted((_y(chart, times[-1]), name) for name, times in chart.lines.items())
    for (y, name), at in zip(ends, spread([y for y, _ in ends]), strict=True):
        yield (
            f'<path class="leader s{_colour(styles[name])}"{_dashes(styles[name])} '
            f'd="M{RIGHT} {y:.1f}L{RIGHT + 22} {at:.1f}H{NAMES - 4}"/>'
            f'<text class="name f{_colour(styles[name])}" x="{NAMES}" y="{at + 4:.1f}">'
            f"{_text(name)}</text>"
        )


def spread(wanted: Sequence[float]) -> list[float]:
    """Ascending places with room between them, and together as near to the wanted as can be."""
    crowds: list[list[float]] = []  # that stand room by room, by what their first would want
    for number, place in enumerate(wanted):
        crowds.append([place - LABEL_ROOM * number])
        while len(crowds) > 1 and fmean(crowds[-2]) >= fmean(crowds[-1]):
            crowds[-2:] = [crowds[-2] + crowds[-1]]
    lowest = BOTTOM - LABEL_ROOM * (len(wanted) - 1)
    firsts = [max(LABEL_ROOM, min(fmean(crowd), lowest)) for crowd in crowds for _ in crowd]
    return [first + LABEL_ROOM * number for number, first in enumerate(firsts)]


def _strip(chart: Chart, styles: Mapping[str, int]) -> Iterator[str]:
    middle = STRIP_TOP + STRIP_HEIGHT / 2 + 4
    yield f'<text class="right" x="{LEFT - 8}" y="{middle}">fastest</text>'
    for name, start, end in chart.strip:
        left, width = _x(start), _x(end) - _x(start)
        yield (
            f'<rect class="f{_colour(styles[name])}" x="{left:.1f}" y="{STRIP_TOP}" '
            f'width="{max(width - 1, 1):.1f}" height="{STRIP_HEIGHT}">'
            f"<title>{_text(name)}</title></rect>"
        )
        if len(name) * LETTER + 8 <= width:
            at = left + width / 2
            yield f'<text class="on middle" x="{at:.1f}" y="{middle}">{_text(name)}</text>'


def _ticks(chart: Chart) -> Sequence[int]:
    """Every size, or every second, and so on, as there is room."""
    room = (RIGHT - LEFT) // TICK_ROOM
    return chart.sizes[:: -(-len(chart.sizes) // room)]


def _dashes(number: int) -> str:
    dash = DASHES[number // len(COLOURS) % len(DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _colour(number: int) -> int:
    return number % len(COLOURS)


def _x(share: float) -> float:
    return LEFT + share * (RIGHT - LEFT)


def _y(chart: Chart, time: int) -> float:
    return BOTTOM - chart.time_axis.share(time) * (BOTTOM - TOP)


def _size_in_words(size: int) -> str:
    """4 B, 64 KiB, 4 GiB."""
    text = size_text(size)
    return f"{text} B" if text.isdigit() else f"{text[:-1]} {text[-1]}iB"


def _text(text: str) -> str:
    """Text from outside, which may hold anything."""
    return escape("".join(c if c.isprintable() else " " for c in text))
