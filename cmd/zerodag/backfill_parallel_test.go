package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/internal/client"
)

// pastDays is a server with a daily schedule, whose sessions begin a day after their time. An attempt is over when it was asked
// for a few times, the third one without success.
type pastDays struct {
	asked   map[string]int
	started []string // days, in the order of their start
	most    int      // that ran at once
	refuse  string   // a day that does not start
}

func (s *pastDays) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const late = 25 * time.Hour
	if id, ok := strings.CutPrefix(r.URL.Path, "/api/attempts/"); ok {
		s.asked[id]++
		io.WriteString(w, s.attempt(id, s.started[id[0]-'1']))
		return
	}
	var b struct {
		From   time.Time `json:"fromTime"`
		Name   string    `json:"attemptName"`
		Count  int
		DryRun bool
	}
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil || b.Name != "bf" {
		http.Error(w, "wrong body", http.StatusBadRequest)
		return
	}
	first := b.From.Add(-late).Truncate(24 * time.Hour)
	for first.Add(late).Before(b.From) {
		first = first.Add(24 * time.Hour)
	}
	var list []string
	for i := range b.Count {
		day := first.AddDate(0, 0, i).Format(time.RFC3339)
		id := "0"
		if !b.DryRun {
			if day == s.refuse {
				http.Error(w, "too many attempts", http.StatusBadRequest)
				return
			}
			s.started = append(s.started, day)
			id = fmt.Sprint(len(s.started))
			s.asked[id] = 0
			s.most = max(s.most, s.running())
		}
		list = append(list, s.attempt(id, day))
	}
	fmt.Fprintf(w, `{"attempts":[%s]}`, strings.Join(list, ","))
}

// polls is after how many questions an attempt is over.
const polls = 3

func (s *pastDays) running() (n int) {
	for _, asked := range s.asked {
		if asked < polls {
			n++
		}
	}
	return n
}

func (s *pastDays) attempt(id, day string) string {
	over, status := s.asked[id] >= polls, "running"
	if over {
		status = map[bool]string{true: "error", false: "success"}[id == "3"]
	}
	return fmt.Sprintf(`{"id":%q,"sessionTime":%q,"project":{"name":"p"},"workflow":{"name":"w"},"done":%t,"success":%t,"status":%q,"createdAt":%q}`,
		id, day, over, status == "success", status, day)
}

func (s *pastDays) backfill(t *testing.T, days, most int, wait func(context.Context, time.Duration) error) (b *sideBySide, said *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	connection, err := client.New(client.Options{Endpoint: server.URL, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	said = &bytes.Buffer{}
	b = &sideBySide{backfillCommand: &backfillCommand{remote: remote{streams: streams{out: io.Discard, err: said}, format: textForm, Client: connection}},
		schedule: "1", most: most, args: []string{"p", "w"}, request: client.Backfill{Name: "bf"}}
	for i := range days {
		b.left = append(b.left, client.Attempt{SessionTime: time.Date(2024, 1, 1+i, 0, 0, 0, 0, time.UTC)})
	}
	return b, said
}

// TestSideBySide proves that no more sessions run at once than were asked for, that each is started once and in order, and
// that one which fails keeps none of the others and is told at the end.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	s := &pastDays{asked: map[string]int{}}
	b, said := s.backfill(t, 7, 3, func(context.Context, time.Duration) error { return nil })
	if err := b.run(t.Context()); !errors.Is(err, errShown) {
		t.Errorf("a failed session is told by %v", err)
	}
	if s.most != 3 || len(s.started) != 7 || !slices.IsSorted(s.started) || len(slices.Compact(slices.Clone(s.started))) != 7 {
		t.Errorf("%d at once, started %v", s.most, s.started)
	}
	for _, want := range []string{"2024-01-07T00:00Z: attempt 7 started, 0 sessions left\n", "2024-01-03T00:00Z: attempt 3 error\n", "7 sessions: 6 succeeded, 1 failed.\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it is not said that %q:\n%s", want, said)
		}
	}
}

// TestSideBySideStops proves that whoever interrupts it, or meets an error, learns what goes on and which command starts
// what has not begun.
func TestSideBySideStops(t *testing.T) {
	t.Parallel()
	const rest = "This begins what is left: zerodag backfill p w --from '2024-01-03 00:00:00' --count 3 --name bf --parallel 2\n"
	ctx, stop := context.WithCancel(t.Context())
	s := &pastDays{asked: map[string]int{}}
	b, said := s.backfill(t, 5, 2, func(ctx context.Context, _ time.Duration) error { stop(); return ctx.Err() })
	if err := b.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if !strings.Contains(said.String(), "attempt 2 goes on: `zerodag log 2 --follow`") || !strings.Contains(said.String(), rest) || len(s.started) != 2 {
		t.Errorf("started %v, said:\n%s", s.started, said)
	}

	s = &pastDays{asked: map[string]int{}, refuse: "2024-01-03T00:00:00Z"}
	b, said = s.backfill(t, 5, 2, func(context.Context, time.Duration) error { return nil })
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "start the session of 2024-01-03T00:00Z: Status code 400: too many attempts") {
		t.Errorf("refused: %v", err)
	}
	if !strings.Contains(said.String(), rest) || len(s.started) != 2 {
		t.Errorf("started %v, said:\n%s", s.started, said)
	}
}
