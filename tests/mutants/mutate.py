"""One small change at a time, at every place of a C++ file where it makes sense.

The operators look at tokens only.  They rely on clang-format's spaces, which tell `a < b` from
`vector<int>`, and on the compiler, which refuses what makes no sense: that is no mutant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Token(NamedTuple):
    kind: str  # word, number, binary (an operator between spaces), count (++) or symbol
    text: str
    start: int
    end: int


class Edit(NamedTuple):
    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


class Mutant(NamedTuple):
    file: str
    line: int
    lines: str  # those that change, as one
    change: str  # these lines with [old -> new] in them
    edit: Edit
    body: Span | None  # of the function that changes

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}"


class Span(NamedTuple):
    start: int
    end: int


TOKEN = re.compile(
    r"""
    (?P<skipped> //[^\n]* | ^\#[^\n]* | "(?:\\.|[^"\\\n])*" )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<number> 0x[0-9A-Fa-f]+ | \d+ )
    | (?P<binary> (?<=\s) (?: <= | >= | == | != | && | \|\| | << | >> | \*= | [-+*/<>&|^] ) (?=\s) )
    | (?P<count> \+\+ | -- )
    | (?P<symbol> -> | :: | \S )
    """,
    re.VERBOSE | re.MULTILINE,
)

OPERATORS = {
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!=", "<=", ">="],
    "!=": ["==", "<", ">"],
    "&&": ["||"],
    "||": ["&&"],
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "*=": ["+="],
    "<<": [">>"],
    ">>": ["<<"],
    "&": ["|"],
    "|": ["&"],
    "^": ["|"],
    "++": ["--"],
    "--": ["++"],
}

ALIKE = [
    ["src", "dst"],
    ["src_slot", "dst_slot", "addend"],
    ["first", "count"],
    ["end", "first"],
    ["end", "to"],
    ["first", "from"],
    ["from", "to", "middle"],
    ["low", "high"],
    ["a", "b"],
    ["initial", "final"],
    ["rank", "slot"],
    ["slot", "place"],
    ["ranks", "slots", "first_scratch"],
    ["message", "route"],
    ["newest_message_", "message_start_"],
    ["kAbsent", "kRead", "kReadWrite"],
    ["source_of", "target_of", "addend_of"],
    ["piece_got", "piece_want"],
    ["want", "held"],
    ["writer_", "only_"],
    ["exists", "may_write"],
    ["min", "max"],
    ["true", "false"],
    ["continue", "break"],
]

OPEN, CLOSE = "([{", ")]}"
LEAVES = {"return", "throw", "continue", "break"}
DECLARES = re.compile(
    r"(const|constexpr|static|using|struct|class|enum|auto|explicit|namespace|public|private)\b"
    r"|[\w:]+(<[^;]*>)?[&*]? \w+( =|;|\(|\{|\[)"
)


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Every mutant of a file; none twice."""
    code = Code(source)
    bodies = code.bodies()
    made = {edit.apply(source): _mutant(file, source, edit, bodies) for edit in code.edits()}
    return list(made.values())


class Code:
    """A C++ file as tokens, with the edits that each turn it into a mutant."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = [
            Token(match.lastgroup or "", match[0], *match.span())
            for match in TOKEN.finditer(source)
            if match.lastgroup != "skipped"
        ]
        self._words = {token.text for token in self._tokens if token.kind == "word"}
        self._partner, self._around = _brackets(self._tokens)

    def edits(self) -> Iterator[Edit]:
        for at, token in enumerate(self._tokens):
            for text in self._alternatives(at):
                yield Edit(token.start, token.end, text)
            match token.text:
                case "&&" | "||":
                    yield from self._drop_operand(at)
                case "?":
                    yield from self._fix_choice(at)
                case "if" | "while":
                    yield from self._fix_branch(at)
                case "!":
                    yield Edit(token.start, token.end, "")
            yield from self._delete_statement(at)

    def bodies(self) -> list[Span]:
        """Each function's body, with its braces; of nested functions, the outermost."""
        found: list[Span] = []
        for at, token in enumerate(self._tokens):
            is_body = token.text == "{" and self._tokens[at - 1].text in {")", "const"}
            if is_body and not (found and token.start < found[-1].end):
                found.append(Span(token.start, self._tokens[self._partner[at]].end))
        return found

    def _alternatives(self, at: int) -> Iterable[str]:
        """Other operators, constants and names of the same kind."""
        token, before = self._tokens[at], self._tokens[at - 1]
        match token.kind:
            case "number":
                value = int(token.text, 0)
                return [str(value + 1)] + [str(value - 1)] * (value > 0)
            case "word" if before.kind != "word" or before.text in LEAVES:
                alike = {name for names in ALIKE if token.text in names for name in names}
                known = alike & self._words - {token.text}
                return ["0"] if token.text == "kNone" else sorted(known)
            case "binary" | "count":
                return OPERATORS[token.text]
        return []

    def _drop_operand(self, at: int) -> Iterator[Edit]:
        stops = {"&&", "||"} if self._tokens[at].text == "&&" else {"||"}
        first, last = self._operand_start(at, stops), self._operand_end(at, stops)
        yield Edit(self._tokens[first].start, self._tokens[at + 1].start, "")
        yield Edit(self._tokens[at - 1].end, self._tokens[last].end, "")

    def _fix_choice(self, at: int) -> Iterator[Edit]:
        first = self._operand_start(at, set())
        for value in ("true", "false"):
            yield Edit(self._tokens[first].start, self._tokens[at - 1].end, value)

    def _fix_branch(self, at: int) -> Iterator[Edit]:
        """Take a branch always, or never; a loop that never ends is not worth waiting for."""
        close = self._partner[at + 1]
        is_block = self._tokens[close + 1].text == "{"
        for value in ["true"] * (self._tokens[at].text == "if") + ["false"] * is_block:
            yield Edit(self._tokens[at + 2].start, self._tokens[close].start, value)

    def _delete_statement(self, at: int) -> Iterator[Edit]:
        """Delete a statement; one that leaves the block only if it is conditional."""
        token, before = self._tokens[at], self._tokens[at - 1].text
        is_conditional = before == ")" and self._heads_statement(at - 1)
        starts = before in {"{", "}", ";"} or is_conditional
        end = self._statement_end(at) if starts and self._around[at] == "{" else None
        if end is None or token.text in {"if", "for", "while", "{", ";"}:
            return
        text = self._source[token.start : self._tokens[end].end]
        if is_conditional or not (token.text in LEAVES or DECLARES.match(text)):
            yield Edit(token.start, self._tokens[end].start, "")

    def _heads_statement(self, close: int) -> bool:
        return self._tokens[self._partner[close] - 1].text in {"if", "for", "while"}

    def _statement_end(self, at: int) -> int | None:
        """The semicolon that ends a statement; None where a bracket closes first."""
        while self._tokens[at].text != ";":
            if self._tokens[at].text in CLOSE:
                return None
            at = self._partner.get(at, at) + 1
        return at

    def _operand_start(self, at: int, stops: set[str]) -> int:
        while self._tokens[at - 1].text not in {*OPEN, *"?:;,=", "return", *stops}:
            at = self._partner.get(at - 1, at - 1)
        return at

    def _operand_end(self, at: int, stops: set[str]) -> int:
        while self._tokens[at + 1].text not in {*CLOSE, *"?:;,=", *stops}:
            at = self._partner.get(at + 1, at + 1)
        return at


def _brackets(tokens: list[Token]) -> tuple[dict[int, int], list[str]]:
    """The partner of each bracket, and the innermost bracket that is open around each token."""
    partner: dict[int, int] = {}
    around: list[str] = []
    open_at: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in CLOSE:
            partner[at] = open_at.pop()
            partner[partner[at]] = at
        around.append(tokens[open_at[-1]].text if open_at else "")
        if token.text in OPEN:
            open_at.append(at)
    return partner, around


def _mutant(file: str, source: str, edit: Edit, bodies: list[Span]) -> Mutant:
    start, end = source.rfind("\n", 0, edit.start) + 1, source.find("\n", edit.end)
    before, old, after = (
        source[start : edit.start],
        source[edit.start : edit.end],
        source[edit.end : end],
    )
    number = source.count("\n", 0, edit.start) + 1
    body = next((b for b in bodies if b.start < edit.start and edit.end < b.end), None)
    lines, change = _joined(before + old + after), _joined(f"{before}[{old} -> {edit.text}]{after}")
    return Mutant(file, number, lines, change, edit, body)


def _joined(lines: str) -> str:
    return " ".join(re.sub("//.*", "", lines).split())
