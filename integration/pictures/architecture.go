package pictures

import (
	"fmt"
	"strings"
)

// box is a part of the architecture: its position on a grid of cells, and its text.
type box struct {
	name             string // for arrows; "" for a box that contains others
	column, row      float64
	columns, rows    float64
	title            string
	below            []string
	strong, contains bool
}

// The picture of the architecture: the same engine in two places.
var (
	boxes = []box{
		{column: 0, row: 0, columns: 4, rows: 7.6, title: "One machine", below: []string{"one binary, one process"}, contains: true},
		{column: 4.3, row: 0, columns: 4, rows: 7.6, title: "Your AWS account", below: []string{"no server, no idle container"}, contains: true},
		{name: "in", column: .3, row: 1.3, columns: 3.4, rows: 1.2, title: "command line · REST · schedules", below: []string{"run, push, start, backfill, retry"}},
		{name: "engine", column: .3, row: 3.2, columns: 3.4, rows: 1.4, title: "the engine", below: []string{"each step of an attempt is", "an entry of its log"}, strong: true},
		{name: "kept", column: .3, row: 5.6, columns: 1.6, rows: 1.6, title: "SQLite", below: []string{"log, queue,", "projects"}},
		{name: "works", column: 2.1, row: 5.6, columns: 1.6, rows: 1.6, title: "commands", below: []string{"processes,", "docker"}},
		{name: "aws in", column: 4.6, row: 1.3, columns: 3.4, rows: 1.2, title: "API Gateway · EventBridge · S3", below: []string{"the same commands and the same API"}},
		{name: "aws engine", column: 4.6, row: 3.2, columns: 3.4, rows: 1.4, title: "the same engine", below: []string{"Lambda functions that run", "while something is due"}, strong: true},
		{name: "aws kept", column: 4.6, row: 5.6, columns: 1.6, rows: 1.6, title: "DynamoDB", below: []string{"one table;", "SQS, S3"}},
		{name: "aws works", column: 6.4, row: 5.6, columns: 1.6, rows: 1.6, title: "Fargate", below: []string{"any image,", "or Lambda"}},
	}
	arrows = [][2]string{{"in", "engine"}, {"engine", "kept"}, {"engine", "works"}, {"aws in", "aws engine"}, {"aws engine", "aws kept"}, {"aws engine", "aws works"}}
)

// cellWidth and cellHeight are the size of a cell in pixels.
const cellWidth, cellHeight = 88.0, 44.0

const architectureLooks = `.a{fill:#f6f8fa;stroke:#d0d7de}.o{fill:#fff;stroke:#8c959f}.e{fill:#ddf4ff;stroke:#0969da}.l{stroke:#57606a;fill:none;stroke-width:1.5}.h{fill:#57606a}
text{fill:#1f2328;font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;text-anchor:middle}.t{font-weight:600}.q{opacity:.75}
@media(prefers-color-scheme:dark){.a{fill:#161b22;stroke:#30363d}.o{fill:#0d1117;stroke:#6e7681}.e{fill:#0c2d6b;stroke:#58a6ff}.l{stroke:#8b949e}.h{fill:#8b949e}text{fill:#e6edf3}}
`

// Architecture draws the parts of zerodag.
func Architecture() string {
	const edge = 4.0
	width, height := 8.3*cellWidth+2*edge, 7.6*cellHeight+2*edge
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="%.0f %.0f %.0f %.0f" width="%.0f" height="%.0f" role="img">`, -edge, -edge, width, height, width, height)
	fmt.Fprintf(&b, "<title>The same engine on one machine and, serverless, in an AWS account</title><style>%s</style>\n", architectureLooks)
	b.WriteString(`<marker id="m" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="h" d="M0 0L8 4L0 8z"/></marker>` + "\n")
	for _, x := range boxes {
		b.WriteString(x.drawn())
	}
	for _, a := range arrows {
		from, to := boxNamed(a[0]), boxNamed(a[1])
		x := (to.column + to.columns/2) * cellWidth
		fmt.Fprintf(&b, `<path class="l" marker-end="url(#m)" d="M%.0f %.0fV%.0f"/>`+"\n", x, (from.row+from.rows)*cellHeight, to.row*cellHeight-1)
	}
	return b.String() + "</svg>\n"
}

func (x box) drawn() string {
	class, first := "o", x.row*cellHeight+(x.rows*cellHeight-17*float64(len(x.below)))/2+4
	switch {
	case x.contains:
		class, first = "a", x.row*cellHeight+22
	case x.strong:
		class = "e"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<rect class="%s" x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="6"/>`, class, x.column*cellWidth, x.row*cellHeight, x.columns*cellWidth, x.rows*cellHeight)
	middle := (x.column + x.columns/2) * cellWidth
	fmt.Fprintf(&b, `<text class="t" x="%.0f" y="%.0f">%s</text>`, middle, first, escaped(x.title))
	for i, line := range x.below {
		fmt.Fprintf(&b, `<text class="q" x="%.0f" y="%.0f">%s</text>`, middle, first+17*float64(i+1), escaped(line))
	}
	return b.String() + "\n"
}

func boxNamed(name string) box {
	for _, x := range boxes {
		if x.name == name {
			return x
		}
	}
	return box{}
}
