package redshift

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/integration/localstack"
	"zerodag/operators"
	"zerodag/operators/operatortest/postgres"
)

// service is a Data API whose statements PostgreSQL actually executes, in one transaction if there are several.
// Statements that PostgreSQL does not know, COPY from S3 and UNLOAD, are written as rows into the table "received".
type service struct {
	t      *testing.T
	server postgres.Server
	url    string

	mu       sync.Mutex
	all      []*submitted
	requests []string // the names of calls
	refuse   int      // this many calls are throttled
	lose     string   // calls with this name succeed, but one response is lost
}

type submitted struct {
	id, name, token, body, status, failure string
	results                                []*pgconn.Result
	stop                                   context.CancelFunc
}

func newService(t *testing.T, server postgres.Server) *service {
	t.Helper()
	s := &service{t: t, server: server}
	h := httptest.NewServer(localstack.Judged(t, http.HandlerFunc(s.answer)))
	t.Cleanup(func() {
		s.mu.Lock()
		for _, x := range s.all {
			x.stop()
		}
		s.mu.Unlock()
		h.Close()
	})
	s.url = h.URL
	return s
}

type request struct {
	ID                                                            string   `json:"Id"`
	SQL                                                           string   `json:"Sql"`
	SQLs                                                          []string `json:"Sqls"`
	ClientToken, StatementName, NextToken, Status                 string
	ClusterIdentifier, WorkgroupName, Database, DbUser, SecretArn string
}

func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	s.requests = append(s.requests, name)
	var in request
	body := json.NewDecoder(r.Body)
	body.DisallowUnknownFields()
	if err := body.Decode(&in); err != nil {
		s.t.Errorf("%s: %v", name, err)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if s.refuse > 0 {
		s.refuse--
		refused(w, "ActiveStatementsExceededException", "too many")
		return
	}
	out, err := s.call(name, in)
	switch {
	case err != nil:
		code, message, _ := strings.Cut(err.Error(), ": ")
		refused(w, code, message)
	case s.lose == name:
		s.lose = ""
		w.WriteHeader(http.StatusInternalServerError)
	default:
		json.NewEncoder(w).Encode(out)
	}
}

func refused(w http.ResponseWriter, code, message string) {
	w.WriteHeader(http.StatusBadRequest)
	json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": message})
}

func (s *service) call(name string, in request) (map[string]any, error) {
	switch name {
	case "ExecuteStatement":
		return s.submit(in, []string{in.SQL})
	case "BatchExecuteStatement":
		return s.submit(in, in.SQLs)
	case "ListStatements":
		list := []map[string]any{}
		for _, x := range s.all {
			if strings.HasPrefix(x.name, in.StatementName) {
				list = append(list, map[string]any{"Id": x.id, "StatementName": x.name})
			}
		}
		return map[string]any{"Statements": list}, nil
	}
	id, part, _ := strings.Cut(in.ID, ":")
	i := slices.IndexFunc(s.all, func(x *submitted) bool { return x.id == id })
	if i < 0 {
		return nil, fmt.Errorf("ResourceNotFoundException: no statement %s", in.ID)
	}
	x := s.all[i]
	switch name {
	case "DescribeStatement":
		return x.describe(), nil
	case "CancelStatement":
		if x.status != "STARTED" {
			return nil, fmt.Errorf("ValidationException: Could not cancel a query that is already in %s state", x.status)
		}
		x.status = "ABORTED"
		x.stop()
		return map[string]any{"Status": true}, nil
	case "GetStatementResult":
		return x.page(part, in.NextToken), nil
	}
	return nil, fmt.Errorf("ValidationException: no operation %s", name)
}

func (s *service) submit(in request, list []string) (map[string]any, error) {
	body := fmt.Sprint(in)
	for _, x := range s.all {
		if x.token != in.ClientToken {
			continue
		}
		if x.body != body {
			return nil, fmt.Errorf("ValidationException: the token was used for another statement")
		}
		return map[string]any{"Id": x.id}, nil
	}
	if in.Database == "" || (in.ClusterIdentifier == "") == (in.WorkgroupName == "") || len(in.ClientToken) > 64 || len(list) == 0 || len(list) > 40 {
		return nil, fmt.Errorf("ValidationException: %+v", in)
	}
	ctx, stop := context.WithCancel(context.Background())
	x := &submitted{id: operators.Derived(s.t.Name(), len(s.all)), name: in.StatementName, token: in.ClientToken, body: body, status: "STARTED", stop: stop}
	s.all = append(s.all, x)
	go s.execute(ctx, x, list)
	return map[string]any{"Id": x.id}, nil
}

func (s *service) execute(ctx context.Context, x *submitted, list []string) {
	results, err := s.transaction(ctx, list)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case x.status == "ABORTED":
	case err != nil:
		x.status, x.failure = "FAILED", err.Error()
	default:
		x.status, x.results = "FINISHED", results
	}
}

func (s *service) transaction(ctx context.Context, list []string) ([]*pgconn.Result, error) {
	conn, err := pgconn.Connect(ctx, fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s sslmode=disable", s.server.Port, postgres.User, postgres.Database))
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.Background())
	if len(list) > 1 {
		list = slices.Concat([]string{"BEGIN"}, list, []string{"COMMIT"})
	}
	var results []*pgconn.Result
	for _, sql := range list {
		rows := conn.ExecParams(ctx, asReceived(sql), nil, nil, nil, nil)
		fields := slices.Clone(rows.FieldDescriptions())
		r := rows.Read()
		r.FieldDescriptions = fields // even without a row
		if r.Err != nil {
			return nil, r.Err
		}
		results = append(results, r)
	}
	if len(list) > 1 {
		results = results[1 : len(results)-1]
	}
	return results, nil
}

// asReceived returns a statement in a form that PostgreSQL accepts.
func asReceived(sql string) string {
	if strings.Contains(sql, "CREDENTIALS '") {
		return "INSERT INTO received VALUES ($received$" + sql + "$received$)"
	}
	return sql
}

func (x *submitted) describe() map[string]any {
	out := map[string]any{"Id": x.id, "Status": x.status}
	if x.failure != "" {
		out["Error"] = x.failure
	}
	var parts []map[string]any
	for i, r := range x.results {
		has := len(r.FieldDescriptions) > 0
		if len(x.results) == 1 {
			out["HasResultSet"] = has
			return out
		}
		parts = append(parts, map[string]any{"Id": fmt.Sprintf("%s:%d", x.id, i+1), "HasResultSet": has})
	}
	out["SubStatements"] = parts
	return out
}

const pageRows = 2

func (x *submitted) page(part, next string) map[string]any {
	r := x.results[0]
	if part != "" {
		r = x.results[part[0]-'1']
	}
	names := map[uint32]string{16: "bool", 20: "int8", 21: "int2", 23: "int4", 25: "text", 700: "float4", 701: "float8", 1043: "varchar", 1082: "date",
		1114: "timestamp", 1184: "timestamptz", 1700: "numeric"}
	var columns []map[string]any
	for _, f := range r.FieldDescriptions {
		columns = append(columns, map[string]any{"name": f.Name, "label": f.Name, "typeName": names[f.DataTypeOID]})
	}
	first := 0
	fmt.Sscan(next, &first)
	var records [][]map[string]any
	for _, row := range r.Rows[first:min(first+pageRows, len(r.Rows))] {
		var record []map[string]any
		for i, v := range row {
			record = append(record, field(r.FieldDescriptions[i].DataTypeOID, v))
		}
		records = append(records, record)
	}
	out := map[string]any{"ColumnMetadata": columns, "Records": records}
	if first+pageRows < len(r.Rows) {
		out["NextToken"] = fmt.Sprint(first + pageRows)
	}
	return out
}

// field returns a value as the Data API represents it.
func field(oid uint32, value []byte) map[string]any {
	switch {
	case value == nil:
		return map[string]any{"isNull": true}
	case oid == 16:
		return map[string]any{"booleanValue": string(value) == "t"}
	case oid >= 20 && oid <= 23:
		return map[string]any{"longValue": json.RawMessage(value)}
	case oid == 700 || oid == 701:
		return map[string]any{"doubleValue": json.RawMessage(value)}
	}
	return map[string]any{"stringValue": string(value)}
}

func (s *service) grant() map[string]string {
	return map[string]string{"aws.access_key_id": "test", "aws.secret_access_key": "test", "aws.redshift.endpoint": s.url}
}

// count returns how many times a call was made.
func (s *service) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if r == name {
			n++
		}
	}
	return n
}
