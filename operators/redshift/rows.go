package redshift

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/redshiftdata"
	"github.com/aws/aws-sdk-go-v2/service/redshiftdata/types"

	"zerodag/operators"
	"zerodag/operators/aws"
	"zerodag/operators/sql"
)

// resultOf adapts the operation to the SDK's paginator.
type resultOf aws.Operation[redshiftdata.GetStatementResultInput, redshiftdata.GetStatementResultOutput, redshiftdata.Options]

func (call resultOf) GetStatementResult(ctx context.Context, in *redshiftdata.GetStatementResultInput, options ...func(*redshiftdata.Options)) (*redshiftdata.GetStatementResultOutput, error) {
	return call(ctx, in, options...)
}

// read handles the rows of the last statement as the task requires.
func (api *dataAPI) read(ctx context.Context, w *task, out *redshiftdata.DescribeStatementOutput) (operators.Result, error) {
	id := *out.Id
	has := out.HasResultSet != nil && *out.HasResultSet
	if n := len(out.SubStatements); n > 0 {
		last := out.SubStatements[n-1]
		id, has = *last.Id, last.HasResultSet != nil && *last.HasResultSet
	}
	if !has {
		return operators.Result{}, sql.NoResults()
	}
	to, err := w.query.Rows(w.Task, "redshift")
	if err != nil {
		return operators.Result{}, err
	}
	defer to.Close()
	pages := redshiftdata.NewGetStatementResultPaginator(api.getStatementResult, &redshiftdata.GetStatementResultInput{Id: &id})
	for first := true; pages.HasMorePages() && (first || !w.query.First()); first = false {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return operators.Result{}, w.call("read the result of statement "+id, "redshift-data:GetStatementResult").Failure(ctx, err)
		}
		if first {
			if err := to.Columns(columns(page.ColumnMetadata)); err != nil {
				return operators.Result{}, err
			}
		}
		for _, row := range page.Records {
			if err := to.Row(values(row)); err != nil {
				return operators.Result{}, err
			}
		}
	}
	return to.Result(nil)
}

// numberOf returns PostgreSQL's number for a type; values of other types are text.
func numberOf(typeName string) uint32 {
	if n, known := map[string]uint32{"bool": 16, "int8": 20, "int2": 21, "int4": 23, "oid": 26, "float4": 700, "float8": 701, "bpchar": 1042, "varchar": 1043,
		"date": 1082, "time": 1083, "timestamp": 1114, "timestamptz": 1184, "numeric": 1700}[typeName]; known {
		return n
	}
	return 25
}

func columns(list []types.ColumnMetadata) []sql.Column {
	columns := make([]sql.Column, len(list))
	for i, c := range list {
		name := c.Label
		if name == nil {
			name = c.Name
		}
		if name != nil {
			columns[i].Name = *name
		}
		if c.TypeName != nil {
			columns[i].OID = numberOf(*c.TypeName)
		}
	}
	return columns
}

// values returns a row's values in PostgreSQL's text form.
func values(row []types.Field) [][]byte {
	list := make([][]byte, len(row))
	for i, field := range row {
		switch v := field.(type) {
		case *types.FieldMemberBooleanValue:
			list[i] = []byte(strconv.FormatBool(v.Value)[:1])
		case *types.FieldMemberLongValue:
			list[i] = strconv.AppendInt(nil, v.Value, 10)
		case *types.FieldMemberDoubleValue:
			list[i] = strconv.AppendFloat(nil, v.Value, 'g', -1, 64)
		case *types.FieldMemberStringValue:
			list[i] = []byte(v.Value)
		case *types.FieldMemberBlobValue:
			list[i] = fmt.Appendf(nil, `\x%x`, v.Value)
		}
	}
	return list
}

// credentials matches credentials in the text of a statement, which an error may show.
var credentials = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(aws_access_key_id|aws_secret_access_key|token)=[^;'\s]*`)
})

// hideKeys removes credentials from a string: the run that checks a statement may not be the run that started it, and
// therefore may not know the credentials.
func hideKeys(text string) string { return credentials().ReplaceAllString(text, "$1=***") }
