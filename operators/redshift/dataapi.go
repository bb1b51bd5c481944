package redshift

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/redshiftdata"
	"github.com/aws/aws-sdk-go-v2/service/redshiftdata/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
	"zerodag/operators/sql"
)

// dataAPI is the Redshift Data API: a task's statements are submitted, and polled until they have ended.
type dataAPI struct {
	cluster, workgroup   *string // exactly one is set
	database             *string
	user, secret, schema *string

	calls
}

// calls holds the Data API operations that tasks need.
type calls struct {
	describeStatement     aws.Operation[redshiftdata.DescribeStatementInput, redshiftdata.DescribeStatementOutput, redshiftdata.Options]
	executeStatement      aws.Operation[redshiftdata.ExecuteStatementInput, redshiftdata.ExecuteStatementOutput, redshiftdata.Options]
	batchExecuteStatement aws.Operation[redshiftdata.BatchExecuteStatementInput, redshiftdata.BatchExecuteStatementOutput, redshiftdata.Options]
	listStatements        statementsOf
	getStatementResult    resultOf
	cancelStatement       aws.Operation[redshiftdata.CancelStatementInput, redshiftdata.CancelStatementOutput, redshiftdata.Options]
}

// readDataAPI reads the cluster or workgroup; nil for a task that names a host.
func readDataAPI(w *task) (*dataAPI, error) {
	api := &dataAPI{}
	for _, option := range []struct {
		key string
		to  **string
	}{{"cluster", &api.cluster}, {"workgroup", &api.workgroup}, {"db_user", &api.user}, {"secret_arn", &api.secret}} {
		text, err := w.params.StringOr(option.key, "")
		if err != nil {
			return nil, err
		}
		if text != "" {
			*option.to = &text
		}
	}
	switch {
	case api.cluster == nil && api.workgroup == nil:
		return nil, nil
	case api.cluster != nil && api.workgroup != nil:
		return nil, param.Errorf("Can't use both cluster and workgroup")
	case api.user != nil && (api.secret != nil || api.workgroup != nil):
		return nil, param.Errorf("Can't use db_user with secret_arn or workgroup")
	case w.params.Has("host"):
		return nil, param.Errorf("Can't use host with cluster or workgroup: name the server, or else the cluster or workgroup for the Data API")
	}
	database, err := w.params.String("database")
	if err != nil {
		return nil, err
	}
	api.database = &database
	schema, err := w.params.StringOr("schema", "")
	if schema != "" {
		api.schema = &schema
	}
	return api, err
}

func (api *dataAPI) connect(ctx context.Context, w *task) error {
	with := *w.Task
	with.Params = w.params
	p, err := aws.Params(&with, "redshift")
	if err != nil {
		return err
	}
	if w.copy != nil { // its region is the files' region
		if p, err = aws.Params(&operators.Task{Params: operators.NewParams(param.New("aws", awsOf(w)))}, "redshift"); err != nil {
			return err
		}
	}
	c, err := w.account.Config(ctx, w.Task, p, "redshift")
	if err != nil {
		return err
	}
	client := redshiftdata.NewFromConfig(c)
	api.calls = calls{describeStatement: client.DescribeStatement, executeStatement: client.ExecuteStatement, batchExecuteStatement: client.BatchExecuteStatement,
		listStatements: client.ListStatements, getStatementResult: client.GetStatementResult, cancelStatement: client.CancelStatement}
	return nil
}

func awsOf(w *task) *param.Map {
	all, err := operators.ReadOr(w.params, "aws", param.AsMap, param.New())
	if err != nil {
		return param.New() // aws.Params has reported this error
	}
	return all
}

// Intervals between polls of statements, and how many times starting them is retried.
const (
	shortestWait = time.Second
	longestWait  = 30 * time.Second
	patience     = 20
)

// run proceeds from the intent, which is stored before anything is started, to the deletion of files from earlier
// tries, which must not happen once statements may run, to the id of the statements, and then to their end.
func (api *dataAPI) run(ctx context.Context, w *task) (operators.Result, error) {
	if _, err := kind().Identified(w.Task); err != nil {
		return operators.Result{}, err
	}
	if !aws.Started(w.Task) {
		if w.copy != nil {
			if err := w.clear(ctx, w.id()); err != nil {
				return operators.Result{}, err
			}
		}
		return operators.Result{}, aws.Again(w.Task, 0, param.New("looks", int64(0)))
	}
	job := aws.Job(w.Task)
	id, err := job.StringOr("statement", "")
	if err != nil {
		return operators.Result{}, err
	}
	looks, err := job.IntOr("looks", 0)
	if err != nil {
		return operators.Result{}, err
	}
	if id == "" {
		return operators.Result{}, api.begin(ctx, w, looks)
	}
	out, err := api.describeStatement(ctx, &redshiftdata.DescribeStatementInput{Id: &id})
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err), err == nil && running(out.Status):
		return operators.Result{}, api.lookAgain(w, id, looks)
	case err != nil:
		return operators.Result{}, w.call("look up statement "+id, "redshift-data:DescribeStatement").Failure(ctx, err)
	case out.Status != types.StatusStringFinished:
		return operators.Result{}, api.failed(w, out)
	case w.query.ReadOnly():
		return api.read(ctx, w, out)
	}
	return operators.Result{}, nil
}

// id returns the query's id, from the state.
func (w *task) id() string {
	id, _ := kind().Identified(w.Task) // checked before
	return id
}

func (w *task) call(doing, needs string) aws.Call {
	return aws.Call{Operator: w.name, Doing: doing, Needs: needs}
}

func (w *task) what() string {
	switch {
	case w.copy != nil:
		return w.copy.what
	case w.query.ReadOnly():
		return "execute given SELECT statement"
	}
	return w.query.What()
}

func running(s types.StatusString) bool {
	return slices.Contains([]types.StatusString{types.StatusStringSubmitted, types.StatusStringPicked, types.StatusStringStarted}, s)
}

// errServer is the cause of a failure that the server reports.
var errServer = errors.New("the server rejected the statement")

// failed returns the server's error, without secrets.
func (api *dataAPI) failed(w *task, out *redshiftdata.DescribeStatementOutput) error {
	text := string(out.Status)
	if out.Error != nil {
		text = *out.Error
	}
	if w.query.ReadOnly() && strings.Contains(text, "read-only") {
		return w.query.WouldWrite()
	}
	return operators.Causedf(errServer, "Failed to %s [%s]", w.what(), hideKeys(text))
}

// begin submits the statements. If the service is busy, or its response is lost, the request is retried; because of the
// token, they start only once.
func (api *dataAPI) begin(ctx context.Context, w *task, tries int64) error {
	id, err := api.start(ctx, w)
	switch {
	case err != nil && ctx.Err() == nil && tries < patience && (aws.Temporary(err) || aws.Code(err) == "ActiveStatementsExceededException"):
		w.Log.Line(operators.Warn, "RedshiftOperator", "Redshift is not accepting statements, retrying: "+aws.Code(err))
		return aws.Again(w.Task, aws.Backoff(tries, shortestWait, longestWait), param.New("looks", tries+1))
	case err != nil && aws.Code(err) == "":
		return err
	case err != nil:
		return w.call("start the statements", "redshift-data:BatchExecuteStatement and redshift-data:ExecuteStatement").Failure(ctx, err)
	}
	w.Log.Line(operators.Info, "RedshiftOperator", "Started statement "+id)
	return api.lookAgain(w, id, 0)
}

func (api *dataAPI) lookAgain(w *task, id string, looks int64) error {
	return aws.Again(w.Task, aws.Backoff(looks, shortestWait, longestWait), param.New("statement", id, "looks", looks+1))
}

// start starts the statements, or finds statements that an earlier run started. A copy has different credentials each
// time, so it is found by its name: a token only covers identical text.
func (api *dataAPI) start(ctx context.Context, w *task) (string, error) {
	if w.copy != nil {
		if id, err := api.find(ctx, w); id != "" || err != nil {
			return id, err
		}
	}
	list, err := api.statements(ctx, w)
	if err != nil {
		return "", err
	}
	name := aws.Name(w.Task)
	if len(list) == 1 {
		out, err := api.executeStatement(ctx, &redshiftdata.ExecuteStatementInput{Sql: &list[0], ClientToken: &name, StatementName: &name,
			ClusterIdentifier: api.cluster, WorkgroupName: api.workgroup, Database: api.database, DbUser: api.user, SecretArn: api.secret})
		if err != nil {
			return "", err
		}
		return *out.Id, nil
	}
	out, err := api.batchExecuteStatement(ctx, &redshiftdata.BatchExecuteStatementInput{Sqls: list, ClientToken: &name, StatementName: &name,
		ClusterIdentifier: api.cluster, WorkgroupName: api.workgroup, Database: api.database, DbUser: api.user, SecretArn: api.secret})
	if err != nil {
		return "", err
	}
	return *out.Id, nil
}

// statementsOf adapts the operation to the SDK's paginator.
type statementsOf aws.Operation[redshiftdata.ListStatementsInput, redshiftdata.ListStatementsOutput, redshiftdata.Options]

func (call statementsOf) ListStatements(ctx context.Context, in *redshiftdata.ListStatementsInput, options ...func(*redshiftdata.Options)) (*redshiftdata.ListStatementsOutput, error) {
	return call(ctx, in, options...)
}

// find returns the id of the statements with the name of this try, "" for none.
func (api *dataAPI) find(ctx context.Context, w *task) (string, error) {
	pages := redshiftdata.NewListStatementsPaginator(api.listStatements, &redshiftdata.ListStatementsInput{StatementName: new(aws.Name(w.Task)), Status: types.StatusStringAll})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, s := range page.Statements {
			if s.StatementName != nil && *s.StatementName == aws.Name(w.Task) {
				return *s.Id, nil
			}
		}
	}
	return "", nil
}

// mostStatements is how many statements the Data API accepts at once.
const mostStatements = 40

// statements returns the statements to submit; several statements form one transaction.
func (api *dataAPI) statements(ctx context.Context, w *task) ([]string, error) {
	list, err := api.own(ctx, w)
	if err != nil {
		return nil, err
	}
	switch {
	case len(list) == 0:
		return nil, param.Errorf("%s> has an empty query", w.name)
	case w.query.ReadOnly() && len(list) > 1:
		return nil, param.Errorf("A query that returns rows must be one statement, not %d", len(list))
	case !w.query.Strict && !w.query.ReadOnly() && len(list) > 1:
		return nil, param.Errorf("With strict_transaction: false the Data API accepts one statement, not %d: write a task for each", len(list))
	}
	if w.query.ReadOnly() {
		list = slices.Insert(list, 0, "SET TRANSACTION READ ONLY")
	}
	if api.schema != nil {
		list = slices.Insert(list, len(list)-1, "SET search_path TO "+sql.Quoted(*api.schema))
	}
	if len(list) > mostStatements {
		return nil, param.Errorf("%d statements exceed the limit of the Data API, %d: split them into several tasks, or set host", len(list), mostStatements)
	}
	return list, nil
}

func (api *dataAPI) own(ctx context.Context, w *task) ([]string, error) {
	if w.copy == nil {
		if w.query.ReadOnly() {
			return sql.Split(w.query.SQL), nil
		}
		return sql.Split(w.query.Statement()), nil
	}
	keys, err := w.keys(ctx)
	return []string{w.copy.statement(w.id(), keys)}, err
}

// stop ends the statements after a kill, even if their id never arrived.
func (api *dataAPI) stop(ctx context.Context, w *task) error {
	if !aws.Started(w.Task) {
		return nil
	}
	id, err := aws.Job(w.Task).StringOr("statement", "")
	if err == nil && id == "" {
		id, err = api.find(ctx, w)
	}
	if id == "" || err != nil {
		return w.call("look for the statements", "redshift-data:ListStatements").Failure(ctx, err)
	}
	_, err = api.cancelStatement(ctx, &redshiftdata.CancelStatementInput{Id: &id})
	if aws.Code(err) == "ValidationException" && strings.Contains(fmt.Sprint(err), "already") {
		return nil // it has ended
	}
	return w.call("cancel statement "+id, "redshift-data:CancelStatement").Failure(ctx, err)
}
