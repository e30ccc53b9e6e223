"""A chart as lines of text: a letter for each algorithm, sizes from left to right."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_letters

import numpy as np

from weft.units import size_text
from weft.view.chart import Chart

LEAST_WIDTH = 40
ROWS_A_DECADE, MOST_ROWS = 3, 24
STRIP = "fastest"
GAP = 3  # between the entries of the legend


def chart_text(chart: Chart, width: int = 80) -> str:
    """Draw it in lines of `width`, 40 at least; where lines meet, the fastest is seen."""
    width = max(width, LEAST_WIDTH)
    label = max(len(STRIP), *map(len, chart.ticks.values())) + 1
    columns = width - label - 1
    letters = dict(zip(chart.lines, _letters(len(chart.lines)), strict=True))
    ticks = _tick_rows(chart)
    rows = [
        f"{ticks.get(number, ''):>{label - 1}} |{row}".rstrip()
        for number, row in enumerate(_rows(chart, letters, columns))
    ]
    strip = "".join(
        letters[name] * (round(end * columns) - round(start * columns))
        for name, start, end in chart.strip
    )
    return "\n".join(
        [
            *rows,
            " " * label + "+" + "-" * columns,
            " " * (label + 1) + _size_labels(chart, columns),
            f"{STRIP:>{label - 1}}  {strip}",
            "",
            *_legend(letters, width),
        ]
    )


def _letters(count: int) -> str:
    return (ascii_letters * (1 + count // len(ascii_letters)))[:count]


def _height(chart: Chart) -> int:
    """Rows above the axis, each of the same share of a decade."""
    return min(ROWS_A_DECADE * (len(chart.ticks) - 1), MOST_ROWS) + 1


def _tick_rows(chart: Chart) -> Mapping[int, str]:
    last = _height(chart) - 1
    return {
        round((1 - chart.time_axis.share(time)) * last): text for time, text in chart.ticks.items()
    }


def _rows(chart: Chart, letters: Mapping[str, str], columns: int) -> list[str]:
    last = _height(chart) - 1
    places = np.linspace(0, 1, columns)
    known = [chart.size_axis.share(size) for size in chart.sizes]
    names = chart.ranking[::-1]  # of equals the winner comes last, and so is seen
    heights = np.array(
        [
            np.interp(places, known, [chart.time_axis.share(time) for time in chart.lines[name]])
            for name in names
        ]
    )
    marks = np.array([letters[name] for name in names])
    cells = np.full((last + 1, columns), " ")
    for ranking in np.argsort(-heights, axis=0, kind="stable"):  # the slowest first
        at = np.arange(columns)
        rows = np.rint((1 - heights[ranking, at]) * last).astype(np.int64)
        cells[rows, at] = marks[ranking]
    return ["".join(row) for row in cells.tolist()]


def _size_labels(chart: Chart, columns: int) -> str:
    """Every size under its column, or every second, and so on, as there is room."""
    lines = (_labels(chart, columns, stride) for stride in range(1, len(chart.sizes) + 1))
    return next(line for line in lines if line is not None)


def _labels(chart: Chart, columns: int, stride: int) -> str | None:
    line = ""
    for size in chart.sizes[::stride]:
        text = size_text(size)
        column = round(chart.size_axis.share(size) * (columns - 1))
        column = min(column, columns - len(text))
        if line and column <= len(line):
            return None
        line = line.ljust(column) + text
    return line


def _legend(letters: Mapping[str, str], width: int) -> list[str]:
    lines = [""]
    for name, letter in letters.items():
        entry = f"{letter} {name}"
        if lines[-1] and len(lines[-1]) + GAP + len(entry) > width:
            lines.append("")
        lines[-1] += " " * (GAP * bool(lines[-1])) + entry
    return lines
