package dynamo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/dynamo"
	"zerodag/internal/host"
)

// TestMovedWhileRead proves that a schedule that is moved while due schedules are read is returned in its new place, so
// that a caller that records its progress skips none.
func TestMovedWhileRead(t *testing.T) {
	t.Parallel()
	const many = 900 // more than fit into one part
	o := options(t)
	db, _ := open(t, o)
	p := host.Push{Site: 1, Project: "demo", Schedules: map[string]host.NextTimes{}, Revision: host.Revision{Name: "r", CreatedAt: instant(0)}}
	for i := range int64(many) {
		name := fmt.Sprint("w", i)
		p.Workflows = append(p.Workflows, dig.Workflow{Name: name, Zone: "UTC", Config: param.New("+a", param.New("echo>", name))})
		p.Schedules[name] = func(*host.Schedule, bool) host.Times { return host.Times{Run: instant(10 + i), Session: instant(5)} }
	}
	if _, err := db.Push(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	first, err := db.Due(t.Context(), time.Time{}, instant(10), 0)
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	// Between the first query of the index and the first read of rows it moves almost to the end.
	var once sync.Once
	c := configOf(t)
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("move", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if awsmiddleware.GetOperationName(ctx) == "BatchGetItem" {
				once.Do(func() {
					moved := first[0]
					moved.Times.Run = instant(10 + many - 2)
					if err := db.Update(t.Context(), moved, first[0].Times, instant(1)); err != nil {
						t.Error(err)
					}
				})
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
	var last time.Time
	seen, parts := map[int64]int{}, 0
	err = dynamo.New(c, o).EachDue(t.Context(), time.Time{}, instant(10+many), func(list []host.Schedule) error {
		parts++
		for _, s := range list {
			if s.Times.Run.Before(last) {
				t.Errorf("schedule %d is due at %v, and one of %v was before it", s.ID, s.Times.Run, last)
			}
			last = s.Times.Run
			seen[s.ID]++
		}
		return nil
	})
	if err != nil || len(seen) != many || seen[first[0].ID] == 0 || parts < 2 {
		t.Errorf("%d schedules in %d parts, the one that moved %d times: %v", len(seen), parts, seen[first[0].ID], err)
	}
}
