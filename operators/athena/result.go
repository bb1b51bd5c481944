package athena

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/athena"
	"github.com/aws/aws-sdk-go-v2/service/athena/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
	"zerodag/operators/sql"
)

// previewRows is the number of rows shown in a log.
const previewRows = 20

// result stores the query's outcome, and handles its rows as the task requires.
func (q *query) result(ctx context.Context, e *types.QueryExecution) (operators.Result, error) {
	last := param.New("id", sdk.ToString(e.QueryExecutionId), "state", string(e.Status.State))
	if e.Statistics != nil && e.Statistics.DataScannedInBytes != nil {
		last.Set("scanned_bytes", *e.Statistics.DataScannedInBytes)
	}
	if e.ResultConfiguration != nil && e.ResultConfiguration.OutputLocation != nil {
		last.Set("output", *e.ResultConfiguration.OutputLocation)
	}
	store := param.New("last_query", last)
	reset := [][]string{{"athena", "last_query"}}
	if q.preview {
		if err := q.rows(ctx, e, &preview{log: q.task.Log}, previewRows); err != nil {
			return operators.Result{}, err
		}
	}
	if !q.wanted.ReadOnly() {
		return operators.Result{Store: param.New("athena", store), ResetStore: reset}, nil
	}
	to, err := q.wanted.Rows(q.task, "athena")
	if err != nil {
		return operators.Result{}, err
	}
	defer to.Close()
	limit := 0
	if q.wanted.First() {
		limit = 1
	}
	if err := q.rows(ctx, e, to, limit); err != nil {
		return operators.Result{}, err
	}
	result, err := to.Result(nil)
	if err != nil {
		return operators.Result{}, err
	}
	if rows := result.Store.Map("athena"); rows.Has("last_results") {
		reset = append(reset, []string{"athena", "last_results"})
		store = param.Merge(store, rows)
	}
	return operators.Result{Store: param.New("athena", store), ResetStore: reset}, nil
}

// receiver receives columns and rows.
type receiver interface {
	Columns(fields []sql.Column) error
	Row(values [][]byte) error
}

// resultsOf adapts the operation to the SDK's paginator.
type resultsOf aws.Operation[athena.GetQueryResultsInput, athena.GetQueryResultsOutput, athena.Options]

func (call resultsOf) GetQueryResults(ctx context.Context, in *athena.GetQueryResultsInput, options ...func(*athena.Options)) (*athena.GetQueryResultsOutput, error) {
	return call(ctx, in, options...)
}

// rows passes on a query's rows, at most limit of them unless that is 0.
func (q *query) rows(ctx context.Context, e *types.QueryExecution, to receiver, limit int) error {
	in := &athena.GetQueryResultsInput{QueryExecutionId: e.QueryExecutionId}
	if limit > 0 {
		in.MaxResults = new(int32(limit + 1)) // the column names come as a row
	}
	pages := athena.NewGetQueryResultsPaginator(resultsOf(q.client.GetQueryResults), in)
	for first := true; pages.HasMorePages() && (first || limit == 0); first = false {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return q.call("read the result of query "+*e.QueryExecutionId, "athena:GetQueryResults, and s3:GetObject on its output,").Failure(ctx, err)
		}
		rows, columns := contents(page.ResultSet)
		if first {
			if err := to.Columns(fields(columns)); err != nil {
				return err
			}
			if e.StatementType != types.StatementTypeDdl && len(rows) > 0 && isHeader(rows[0], columns) {
				rows = rows[1:]
			}
		}
		for _, row := range rows {
			if err := to.Row(values(row, columns)); err != nil {
				return err
			}
		}
	}
	return nil
}

// contents returns the rows and columns of a page, or none for a statement without a result.
func contents(r *types.ResultSet) ([]types.Row, []types.ColumnInfo) {
	if r == nil || r.ResultSetMetadata == nil {
		return nil, nil
	}
	return r.Rows, r.ResultSetMetadata.ColumnInfo
}

// isHeader reports whether a row has the names of the columns, as the first row of a SELECT does.
func isHeader(row types.Row, columns []types.ColumnInfo) bool {
	return slices.EqualFunc(row.Data, columns, func(d types.Datum, c types.ColumnInfo) bool {
		return sdk.ToString(d.VarCharValue) == sdk.ToString(c.Name)
	})
}

// PostgreSQL types whose values look like Athena's; the others are text.
const textType = 25

func kindOf(athenaType string) uint32 {
	switch athenaType {
	case "boolean":
		return 16
	case "tinyint", "smallint", "integer", "int", "bigint":
		return 20
	case "float", "real", "double":
		return 701
	case "decimal":
		return 1700
	}
	return textType
}

func fields(columns []types.ColumnInfo) []sql.Column {
	list := make([]sql.Column, len(columns))
	for i, c := range columns {
		list[i] = sql.Column{Name: sdk.ToString(c.Name), OID: kindOf(sdk.ToString(c.Type))}
	}
	return list
}

// values returns the values of a row as PostgreSQL writes them.
func values(row types.Row, columns []types.ColumnInfo) [][]byte {
	list := make([][]byte, len(columns))
	for i, d := range row.Data {
		if i >= len(columns) || d.VarCharValue == nil {
			continue // null
		}
		list[i] = []byte(*d.VarCharValue)
		if kindOf(sdk.ToString(columns[i].Type)) == 16 {
			list[i] = list[i][:1] // true is t
		}
	}
	return list
}

// preview shows rows in the task's log.
type preview struct{ log operators.Log }

func (p *preview) Columns(fields []sql.Column) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	p.line(names)
	return nil
}

func (p *preview) Row(values [][]byte) error {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	p.line(texts)
	return nil
}

func (p *preview) line(texts []string) {
	p.log.Write([]byte(strings.Join(texts, "\t") + "\n")) //nolint:errcheck // a task's log never fails
}
