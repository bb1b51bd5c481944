package rest

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/httpapi/wire"
)

// twins returns the objects that the client reads, each with the server's type. The types differ because the client
// also reads responses from Digdag and from older servers, with IDs as numbers and missing fields.
func twins() map[any]any {
	return map[any]any{
		&client.Project{}: wire.Project{}, &client.Revision{}: wire.Revision{}, &client.Workflow{}: wire.Workflow{}, &client.SessionTime{}: wire.SessionTime{},
		&client.Schedule{}: wire.Schedule{}, &client.Session{}: wire.Session{}, &client.Attempt{}: wire.Attempt{}, &client.Task{}: wire.Task{},
		&client.LogFile{}: wire.LogFile{}, &client.Token{}: wire.NewToken{}, &client.AuditEntry{}: wire.Record{}, &client.Caller{}: wire.Caller{}, &client.Check{}: wire.VersionCheck{},
		&client.StartPlan{}: wire.StartPlan{}, &client.RerunPlan{}: wire.RerunPlan{}, &client.Filling{}: wire.Fill{}, &client.FillPlan{}: wire.FillPlan{},
		&client.PoolLine{}: wire.Line{}, &client.Queues{}: wire.Queue{}, &client.Limit{}: wire.Limit{}, &client.Site{}: wire.Site{},
		&client.DeadLetter{}: wire.LetterBody{}, &client.Outline{}: wire.Outline{}, &client.Change{}: wire.Change{},
	}
}

// TestTwins checks that the client finds everything it reads in the server's objects: no field of the client stays
// empty if all fields of the server's object are set.
func TestTwins(t *testing.T) {
	t.Parallel()
	for read, written := range twins() {
		v := reflect.New(reflect.TypeOf(written)).Elem()
		fill(v)
		text, err := json.Marshal(v.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, read); err != nil {
			t.Errorf("%T cannot be read: %v\n%s", read, err, text)
		}
		for _, name := range empty(reflect.ValueOf(read).Elem(), reflect.TypeOf(read).Elem().Name()) {
			t.Errorf("%s is read of nothing\n%s", name, text)
		}
	}
}

// fill gives everything below a value a non-zero value; every string is a time because some have to be.
func fill(v reflect.Value) {
	switch v.Addr().Interface().(type) {
	case *wire.Moment:
		v.Set(reflect.ValueOf(wire.Moment(time.Unix(1_700_000_000, 0))))
		return
	case *wire.Object:
		v.Set(reflect.ValueOf(wire.Object{Map: param.New("a", "b")}))
		return
	case *json.RawMessage:
		v.SetBytes([]byte(`{}`))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("2026-01-02T03:04:05+00:00")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for f, of := range v.Fields() {
			if f.IsExported() {
				fill(of)
			}
		}
	default:
		v.Set(reflect.ValueOf(7).Convert(v.Type()))
	}
}

// empty lists the empty fields of a value.
func empty(v reflect.Value, name string) (list []string) {
	_, isTime := v.Interface().(time.Time)
	switch {
	case v.IsZero():
		return []string{name}
	case isTime || v.Type() == reflect.TypeFor[*param.Map]():
	case v.Kind() == reflect.Pointer:
		return empty(v.Elem(), name)
	case v.Kind() == reflect.Slice:
		return empty(v.Index(0), name)
	case v.Kind() == reflect.Struct:
		for f, of := range v.Fields() {
			if f.Tag.Get("json") != "-" {
				list = append(list, empty(of, name+"."+f.Name)...)
			}
		}
	}
	return list
}
