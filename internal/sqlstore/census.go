package sqlstore

import (
	"context"
	"strconv"
	"time"

	"zerodag/internal/host"
)

const (
	// unfinishedByWorkflow counts unfinished attempts.
	unfinishedByWorkflow = "SELECT a.site_id, coalesce(p.name, p.deleted_name), a.workflow_name, count(*)" +
		" FROM @session_attempts a JOIN @projects p ON p.id = a.project_id WHERE a.finished_at IS NULL" +
		" GROUP BY a.site_id, a.project_id, p.name, p.deleted_name, a.workflow_name ORDER BY a.project_id, a.workflow_name"

	// poolsByWait counts the slots and claims of pools.
	poolsByWait = "SELECT o.site_id, p.name, o.name, o.slots," +
		" (SELECT count(*) FROM @pool_slots s WHERE s.pool_id = o.id)," +
		" (SELECT count(*) FROM @pool_claims c WHERE c.pool_id = o.id) AS waiting," +
		" (SELECT min(c.since) FROM @pool_claims c WHERE c.pool_id = o.id)" +
		" FROM @pools o LEFT JOIN @projects p ON p.id = o.project_id ORDER BY waiting DESC, o.id LIMIT ?"
)

// succeededBySchedule finds the last success of each scheduled workflow. It reads only a few rows of each, because a
// workflow that never succeeds may have any number of attempts.
func succeededBySchedule() string {
	return "SELECT s.site_id, p.name, s.workflow_name, s.created_at," +
		" (SELECT max(r.finished_at) FROM (SELECT a.finished_at, a.state_flags FROM @session_attempts a" +
		" WHERE a.project_id = s.project_id AND a.workflow_name = s.workflow_name AND a.retried = ?" +
		" ORDER BY a.id DESC LIMIT " + strconv.Itoa(host.CensusDepth) + ") r WHERE r.state_flags & " + strconv.Itoa(success) + " <> 0)" +
		" FROM @schedules s JOIN @projects p ON p.id = s.project_id WHERE s.disabled_at IS NULL AND p.deleted_at IS NULL" +
		" ORDER BY s.id LIMIT ?"
}

// Census counts work by workflow and by pool: see host.Database.
func (s *Store) Census(ctx context.Context, n int) (c host.Census, err error) {
	err = s.driver.Read(ctx, func(conn Conn) (err error) {
		c = host.Census{}
		name := func(r *Row) host.WorkflowName {
			return host.WorkflowName{Site: r.ID(), Project: r.Text(), Workflow: r.Text()}
		}
		if c.Unfinished, err = Collect(conn, func(r *Row) host.WorkflowCount {
			return host.WorkflowCount{WorkflowName: name(r), Attempts: r.Int()}
		}, unfinishedByWorkflow); err != nil {
			return err
		}
		if c.Succeeded, err = Collect(conn, func(r *Row) host.WorkflowTime {
			w := host.WorkflowTime{WorkflowName: name(r), At: r.Time()}
			if last := r.Time(); !last.IsZero() {
				w.At = last
			}
			return w
		}, succeededBySchedule(), false, n); err != nil {
			return err
		}
		c.Pools, err = Collect(conn, func(r *Row) host.PoolCount {
			p := host.PoolCount{Site: r.ID(), Project: r.Text(), Name: r.Text(), Slots: r.Int(), Taken: r.Int(), Waiting: r.Int()}
			if since := r.ID(); since != 0 {
				p.Since = time.UnixMilli(since).UTC()
			}
			return p
		}, poolsByWait, n)
		return err
	})
	return c, err
}
