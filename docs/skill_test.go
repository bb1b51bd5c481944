package docs_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zerodag/docs"
	"zerodag/operators/all"
)

// longestSkill is how many lines an assistant may have to read to know the language.
const longestSkill = 200

// TestSkill proves that the file for coding assistants agrees with the pages of the language.
func TestSkill(t *testing.T) {
	t.Parallel()
	text := extracts{t}.skill()
	if lines := strings.Count(text, "\n"); lines > longestSkill {
		t.Errorf("the file has %d lines, more than %d", lines, longestSkill)
	}
	compareFile(t, "skills/zerodag/SKILL.md", text, "TestSkill")
}

// TestLlms proves that the index for assistants lists every page for users, each with its beginning.
func TestLlms(t *testing.T) {
	t.Parallel()
	compareFile(t, "llms.txt", extracts{t}.index(), "TestLlms")
}

// extracts reads parts of pages; a missing part fails the test.
type extracts struct{ t *testing.T }

const skillHead = `---
name: zerodag
description: Write, check, run and fix zerodag (or Digdag) workflows, which are .dig files. Use it if a project has .dig files, or if the user wants a workflow with tasks, retries, a schedule or a backfill.
---

# zerodag workflows

This file is generated from the reference; ` + "`zerodag docs TOPIC`" + ` shows the full text of a page, a key, a variable, a setting or an operator.

How to work: write the file, run ` + "`zerodag check`" + ` until it reports no errors and no warnings, then run ` + "`zerodag run FILE.dig --session 2026-03-01`" + `. A run resumes where the last one of that session failed;
` + "`--rerun`" + ` starts over, ` + "`--dry-run --show-params`" + ` shows the parameters of each task. On a server: ` + "`zerodag push PROJECT`, `start PROJECT NAME --session now --wait`, `log ID`, `retry ID --latest-revision --resume`" + `.
`

func (x extracts) skill() string {
	var b strings.Builder
	b.WriteString(skillHead)
	add := func(parts ...string) {
		for _, p := range parts {
			b.WriteString("\n" + strings.TrimSpace(p) + "\n")
		}
	}
	say := func(parts ...string) { add(strings.Join(parts, " ")) }
	add("## Tasks")
	say(x.first("tasks", "A task"), x.first("tasks", "Groups"), x.first("tasks", "`_parallel`"), x.first("tasks", "`_after`"))
	add(x.block("tasks", "graph.dig"))
	say(x.first("tasks", "Several files"), x.first("tasks", "`_do` and `_else_do`"))
	add(x.block("tasks", "generate.dig"), x.first("tasks", "YAML"), x.table("tasks", "Every key of a task"))
	say("Operators:", x.operators()+".", "`zerodag operators NAME` shows the parameters of one.")
	add("## Parameters")
	say(x.first("parameters", "`_export`"), strings.TrimSuffix(x.paragraph("parameters", "Parameters of a run: `-p` and `-P`", "**The `_export` of the workflow wins"), ":")+".", x.first("parameters", "Parameters from scripts"))
	add(x.block("parameters", "counting.dig"), x.block("parameters", "tasks.py"))
	say(x.paragraph("parameters", "What beats what", "A stored value therefore wins"), x.first("parameters", "Secrets"))
	add("## Expressions")
	say(x.first("expressions", ""), x.first("expressions", "Types"))
	add(x.block("expressions", "dates.dig"), x.table("expressions", "Escapes"))
	say("Variables:", x.names("variables", "The session and the task")+".", "With a schedule:", x.names("variables", "The schedule")+".")
	add(x.table("variables", "Only in some places"))
	add("## Schedules", x.block("schedules", "nightly.dig"), x.first("schedules", "Session time and run time"), x.table("schedules", "Kinds"))
	say(x.first("schedules", "`skip_on_overtime`"), x.first("schedules", "`skip_delayed_by`"), x.first("schedules", "Backfill"))
	add(x.first("schedules", "`sla`"), x.table("schedules", "`sla`"))
	add("## Retries and errors")
	say(x.first("retries-and-errors", "`_retry`"), x.paragraph("retries-and-errors", "`_retry`", "**On a group**"), x.first("retries-and-errors", "`_error`"), x.first("retries-and-errors", "`_check`"))
	add(x.table("retries-and-errors", "`_retry`"))
	return b.String()
}

// index returns docs/llms.txt: every page with a link and its beginning.
func (x extracts) index() string {
	var b strings.Builder
	b.WriteString("# zerodag\n\n> zerodag runs workflows written in the Digdag language (.dig files): on one machine, as a server with schedules and a REST API, and serverless on AWS.\n\n" +
		"The language in 200 lines is skills/zerodag/SKILL.md. The program also shows these pages: `zerodag docs TOPIC`.\n")
	groups, err := docs.Groups()
	if err != nil {
		x.t.Fatal(err)
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Title)
		for _, file := range g.Files {
			name := strings.TrimSuffix(file, ".md")
			title, _, _ := strings.Cut(strings.TrimPrefix(x.read(name), "# "), "\n")
			fmt.Fprintf(&b, "- [%s](%s): %s\n", title, file, sentenceOf(x.paragraphs(name, "")))
		}
	}
	fmt.Fprintf(&b, "\n## For programs\n\n- [REST API](openapi.yaml): OpenAPI\n- [JSON Schema](dig.schema.json): of workflows\n")
	return b.String()
}

// sentenceOf returns the first sentence of the first text that is a paragraph.
func sentenceOf(paragraphs []string) string {
	for _, p := range paragraphs {
		if text := plainText(p); len(text) > 0 && !strings.HasPrefix(p, "    ") && !strings.HasPrefix(p, "```") && !strings.HasPrefix(p, "|") {
			first, _, _ := strings.Cut(text, ". ")
			return first
		}
	}
	return ""
}

func (x extracts) read(page string) string {
	text, err := os.ReadFile(page + ".md")
	if err != nil {
		x.t.Fatal(err)
	}
	return string(text)
}

var fence = regexp.MustCompile("(?ms)^```[a-z]*\n.*?^```\n?")

// paragraphs returns the paragraphs of a section, or of the beginning of a page if the name is empty. A block counts as
// one.
func (x extracts) paragraphs(page, heading string) []string {
	text := x.read(page)
	_, text, _ = strings.Cut(text, "\n")
	if heading != "" {
		var found bool
		if _, text, found = strings.Cut(text, "\n## "+heading+"\n"); !found {
			x.t.Fatalf("%s.md has no section %q", page, heading)
		}
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return strings.Split(strings.TrimSpace(fence.ReplaceAllString(text, "\n```\n")), "\n\n")
}

// first returns the first paragraph of a section, with words instead of links.
func (x extracts) first(page, heading string) string { return x.paragraph(page, heading, "") }

// paragraph returns the first paragraph of a section that begins with a text.
func (x extracts) paragraph(page, heading, begin string) string {
	if !strings.Contains(page, "/") {
		page = path.Join("language", page)
	}
	list := x.paragraphs(page, heading)
	i := slices.IndexFunc(list, func(p string) bool {
		return p != "" && strings.TrimSpace(p) != "```" && strings.HasPrefix(p, begin)
	})
	if i < 0 {
		x.t.Fatalf("%s.md has no paragraph below %q that begins with %q", page, heading, begin)
	}
	return links.ReplaceAllString(list[i], "$1")
}

// block returns the file that a page shows under a name, as a sample.
func (x extracts) block(page, name string) string {
	text := x.read(path.Join("language", page))
	for _, b := range fence.FindAllString(text, -1) {
		first, rest, _ := strings.Cut(b, "\n")
		if body, found := strings.CutPrefix(rest, "# "+name+"\n"); found {
			return first + "\n" + body
		}
	}
	x.t.Fatalf("%s.md has no file %s", page, name)
	return ""
}

// table returns all tables of a section, with words instead of links.
func (x extracts) table(page, heading string) string {
	var rows []string
	for _, p := range x.paragraphs(path.Join("language", page), heading) {
		if strings.HasPrefix(p, "|") {
			rows = append(rows, links.ReplaceAllString(p, "$1"))
		}
	}
	if len(rows) == 0 {
		x.t.Fatalf("%s of %s.md has no table", heading, page)
	}
	return strings.Join(rows, "\n\n")
}

// names returns the words in the first cells of the tables of a section.
func (x extracts) names(page, heading string) string {
	var words []string
	for line := range strings.Lines(x.table(page, heading)) {
		if cells := strings.Split(line, "|"); strings.Contains(cells[1], "`") {
			words = append(words, strings.TrimSpace(cells[1]))
		}
	}
	return strings.Join(words, " ")
}

func (x extracts) operators() string {
	var words []string
	for _, name := range all.Registry().Names() {
		words = append(words, "`"+name+">`")
	}
	return strings.Join(words, " ")
}
