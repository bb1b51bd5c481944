package postgres

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"zerodag/internal/host"
)

// testOpenAtOnce proves that servers that start at the same time create the schema only once, and that all of them
// work.
func testOpenAtOnce(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	o.Connections = 2
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			db, err := Open(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if err := db.Record(t.Context(), host.Record{At: at(0), Site: 1, Who: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	db := open(t, o)
	if list, err := db.Audits(t.Context(), host.AuditQuery{Site: 1}); err != nil || len(list) != 8 {
		t.Errorf("8 servers have written %d records (%v)", len(list), err)
	}
	list, err := o.known()
	if n := number(t, db, "SELECT count(*) FROM @schema_migrations"); err != nil || n != len(list) {
		t.Errorf("%d migrations were made, there are %d (%v)", n, len(list), err)
	}
}

// testOptions proves that invalid options are refused with an error that names the remedy, and that no error shows a
// password.
func testOptions(t *testing.T, l *lab) {
	for _, c := range []struct {
		o     Options
		parts []string
	}{
		{Options{URL: l.url(l.Port), Schema: "public"}, []string{"public", "use a different schema"}},
		{Options{URL: l.url(l.Port), Schema: strings.Repeat("x", 64)}, []string{"at most 63 bytes"}},
		{Options{URL: l.url(l.Port), Schema: "pg_x"}, []string{"pg_"}},
		{Options{URL: l.url(l.Port), SecretKeys: [][]byte{[]byte("short")}}, []string{"5 bytes", "16 random bytes"}},
		{Options{}, []string{"the URL is missing", "postgres://"}},
		{Options{URL: "postgres://me:hush@127.0.0.1:x/db"}, []string{"URL"}},
		{Options{URL: "postgres://me:hush@127.0.0.1:1/db?connect_timeout=1"}, []string{"db on 127.0.0.1:1"}},
	} {
		_, err := Open(t.Context(), c.o)
		wantText(t, err, c.parts...)
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("the password is shown: %v", err)
		}
	}
}

// testBeside proves that tables in the schema "public", where Digdag's tables have the same names, stay unchanged.
func testBeside(t *testing.T, l *lab) {
	l.Rows(t, "CREATE TABLE public.projects (id int); CREATE TABLE public.schema_migrations (x text); INSERT INTO public.projects VALUES (7); SELECT 1")
	db := l.fresh(t)
	setScene(t, db)
	if rows := l.Rows(t, "SELECT id FROM public.projects"); len(rows) != 1 || rows[0] != "7" {
		t.Errorf("the table of another has %q", rows)
	}
	if n := number(t, db, "SELECT count(*) FROM @projects"); n != 1 {
		t.Errorf("%d projects are in our own", n)
	}
}

// testKeys proves that a server whose key does not match the database gets an error when it starts, even if there are
// no secrets, that a server without a key starts, and that a key can be replaced.
func testKeys(t *testing.T, l *lab) {
	l.enter(t)
	o, ctx := l.options(), t.Context()
	first, another := open(t, o), o
	another.SecretKeys = [][]byte{[]byte("fedcba9876543210")}
	second := open(t, another)
	if err := first.CheckKey(ctx); err != nil {
		t.Errorf("without secrets: %v", err)
	}
	wantText(t, second.CheckKey(ctx), "digdag.secret-decryption-keys", "wrong key")
	if err := first.PutSecret(ctx, 1, 1, "k", "v"); err != nil {
		t.Fatal(err)
	}
	if err := first.CheckKey(ctx); err != nil {
		t.Errorf("the same key: %v", err)
	}
	wantText(t, second.CheckKey(ctx), "digdag.secret-decryption-keys", "wrong key")
	both := another
	both.SecretKeys = append(both.SecretKeys, o.SecretKeys...)
	third := open(t, both)
	if got, err := third.RekeySecrets(ctx); err != nil || got.Changed != 1 {
		t.Errorf("rekey: %+v, %v", got, err)
	}
	if got, err := second.ProjectSecrets(ctx, 1, 1); err != nil || got["k"] != "v" || second.CheckKey(ctx) != nil {
		t.Errorf("the new key: %v, %v", got, err)
	}
	another.SecretKeys = nil
	if err := open(t, another).CheckKey(ctx); err != nil {
		t.Errorf("without a key: %v", err)
	}
}
