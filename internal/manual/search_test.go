package manual

import (
	"slices"
	"strings"
	"testing"
)

// TestQuestions proves that users' questions, in their own words or in the words of other tools, find the page with the
// answer among the first three sections of the result.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for question, pages := range map[string][]string{
		"how do I pass a file between tasks":         {"files-between-tasks"},
		"how do I retry only what failed":            {"retry-and-resume", "retries-and-errors"},
		"where do secrets go":                        {"secrets", "parameters"},
		"send an email when a workflow fails":        {"notifications"},
		"run every weekday at 7":                     {"schedules", "zerodag-1"},
		"limit how many run at the same time":        {"zerodag-1"},
		"back-off":                                   {"retries-and-errors"},
		"exponential backoff":                        {"retries-and-errors"},
		"timeout":                                    {"zerodag-1"},
		"cron":                                       {"schedules"},
		"xcom":                                       {"parameters", "files-between-tasks"},
		"catchup":                                    {"backfill", "zerodag-1", "schedules"},
		"reprocess the last month":                   {"backfill"},
		"which python packages are installed":        {"python-dependencies"},
		"pip install requirements.txt":               {"python-dependencies"},
		"time zone of a schedule":                    {"schedules"},
		"daylight saving":                            {"schedules"},
		"run a task in docker":                       {"commands", "sh"},
		"environment variables":                      {"variables", "parameters", "zerodag-1"},
		"if else":                                    {"if", "switch"},
		"loop over a list":                           {"for_each", "loop"},
		"wait for another workflow":                  {"require"},
		"wait for a file in s3":                      {"s3_wait", "s3"},
		"call a REST API":                            {"http", "http_call"},
		"query postgres":                             {"pg"},
		"unit test my scripts":                       {"test-scripts"},
		"how much does it cost on AWS":               {"aws"},
		"backup and restore":                         {"production", "aws", "server"},
		"single sign-on":                             {"server", "security"},
		"stop a running workflow":                    {"cli", "reference/commands", "faq", "console"},
		"several servers postgres high availability": {"servers"},
		"where do I see the logs":                    {"cli", "console", "reference/commands", "faq"},
		// These questions come from a new user who knew Airflow and cron:
		"where do I put my database password":           {"secrets", "parameters"},
		"run at 9am new york time daylight saving":      {"schedules"},
		"max_active_runs only one run at once":          {"zerodag-1"},
		"loop over list of files in parallel":           {"loops", "for_each", "loop", "tasks"},
		"alert if job is not finished by 8am":           {"schedules"},
		"set enviroment variable for shell command":     {"parameters", "variables"},
		"process every file of a folder":                {"loops"},
		"last business day of month":                    {"business-days"},
		"mock http in tests":                            {"test-scripts"},
		"run on kubernetes":                             {"servers"},
		"rotate api token":                              {"server"},
		"rerun last 30 days of a job":                   {"backfill"},
		"give a user read only access":                  {"server", "security"},
		"upgrade to a new version without downtime":     {"servers", "production"},
		"replace crontab":                               {"from-cron"},
		"use s3 file arrival as a trigger":              {"s3_wait", "aws"},
		"different settings for dev and prod":           {"environments"},
		"job still running when next schedule starts":   {"schedules", "zerodag-1"},
		"kill a task that runs too long":                {"zerodag-1"},
		"how much does it cost on aws per month":        {"aws"},
		"trigger workflow from webhook http":            {"start-by-http"},
		"aws credentials access key":                    {"operators/aws"},
		"how to stop a dag run":                         {"reference/commands"},
		"cancel a running job":                          {"reference/commands"},
		"run every weekday at 9":                        {"schedules"},
		"variable shared by all projects global config": {"server"},
		"how to see why my task failed in terminal":     {"reference/commands", "faq"},
		"where do i find the stdout of a task":          {"reference/commands"},
		"fan out":                                       {"for_each", "loop"},
		"celery workers scale out":                      {"servers"},
		"dbt":                                           {"dbt-duckdb-spark"},
		"coming from airflow":                           {"from-airflow"},
		"install on mac":                                {"install"},
		"is it exactly once":                            {"guarantees"},
	} {
		hits, _, err := Search(question, 3)
		if err != nil || !slices.ContainsFunc(hits, func(h Hit) bool {
			page, _, _ := strings.Cut(h.Address, "#")
			return slices.Contains(pages, page)
		}) {
			t.Errorf("%s: %+v, %v; want one of %v", question, hits, err, pages)
		}
	}
}

// TestHits proves that each hit's address leads to its section, that a search without a result is empty, and that no
// text, however long or strange, crashes the program.
func TestHits(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, words := range []string{"parameters", "secret", "back-off", "workflow schedule", "task", "sla", "s3 object", "zerodag kill"} {
		hits, _, err := Search(words, 500)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(hits)
		for _, h := range hits {
			found, err := Find(h.Address)
			if err != nil || h.Heading != "" && !strings.Contains(strings.ReplaceAll(found.Page, "`", ""), h.Heading) || h.Text == "" {
				t.Errorf("%+v: %q, %v", h, found.Title, err)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d hits", seen)
	}
	for _, none := range []string{"", "the", "qwertzuiop", "\x1b[2J", strings.Repeat("x", 100_000), "\xff"} {
		if hits, _, err := Search(none, 8); err != nil || len(hits) > 0 {
			t.Errorf("%.20q: %+v, %v", none, hits, err)
		}
	}
}

// TestTypos proves that a word that appears on no page counts as the nearest word, and that the replacement is
// reported.
func TestTypos(t *testing.T) {
	t.Parallel()
	hits, meant, err := Search("enviroment variable of a comand", 3)
	if err != nil || len(hits) == 0 || !slices.Equal(meant, []string{"environment", "command"}) {
		t.Errorf("%+v, %q, %v", hits, meant, err)
	}
	if hits, meant, err := Search("xyzzy plugh", 3); err != nil || len(hits) > 0 || len(meant) > 0 {
		t.Errorf("words that mean nothing: %+v, %q, %v", hits, meant, err)
	}
}

// TestAddresses proves that a link on a page is shown as an address that its reader can enter or open.
func TestAddresses(t *testing.T) {
	t.Parallel()
	list, err := Topics()
	if err != nil {
		t.Fatal(err)
	}
	page := list[slices.IndexFunc(list, func(t Topic) bool { return t.Name == "retry-and-resume" })]
	for target, want := range map[string]string{
		"https://example.com/a#b":        "https://example.com/a#b",
		"#resuming":                      "zerodag docs retry-and-resume#resuming",
		"../language/schedules.md#delay": "zerodag docs schedules#delay",
		"../../operators/http/README.md": "zerodag docs http",
		"../reference/commands.md":       "zerodag docs reference/commands",
		"../../CONTRIBUTING.md":          "CONTRIBUTING.md (in the source)",
	} {
		if got := page.Address(target); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

// FuzzSearch proves that no words crash the program, and that no more results are returned than requested.
func FuzzSearch(f *testing.F) {
	f.Add("back-off of `_retry`")
	f.Fuzz(func(t *testing.T, words string) {
		if hits, _, err := Search(words, 3); err != nil || len(hits) > 3 {
			t.Errorf("%d hits, %v", len(hits), err)
		}
	})
}

// BenchmarkIndex measures the creation of the index, which delays a process's first search.
func BenchmarkIndex(b *testing.B) {
	for b.Loop() {
		if _, err := makeIndex(); err != nil {
			b.Fatal(err)
		}
	}
}
