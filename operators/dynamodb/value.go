package dynamodb

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/engine/param"
)

// attribute converts a workflow value to DynamoDB's form.
func attribute(v param.Value) types.AttributeValue {
	switch x := v.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: x}
	case string:
		return &types.AttributeValueMemberS{Value: x}
	case []param.Value:
		list := make([]types.AttributeValue, len(x))
		for i, e := range x {
			list[i] = attribute(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case *param.Map:
		return &types.AttributeValueMemberM{Value: attributes(x)}
	}
	return &types.AttributeValueMemberN{Value: param.Text(v)}
}

func attributes(m *param.Map) map[string]types.AttributeValue {
	item := make(map[string]types.AttributeValue, m.Len())
	for k, v := range m.All() {
		item[k] = attribute(v)
	}
	return item
}

// plain converts an item for a workflow, with its attributes sorted by name: sets become lists, bytes become base64.
func plain(item map[string]types.AttributeValue) *param.Map {
	m := param.New()
	for _, k := range slices.Sorted(maps.Keys(item)) {
		m.Set(k, value(item[k]))
	}
	return m
}

func value(a types.AttributeValue) param.Value {
	switch x := a.(type) {
	case *types.AttributeValueMemberS:
		return x.Value
	case *types.AttributeValueMemberN:
		return number(x.Value)
	case *types.AttributeValueMemberBOOL:
		return x.Value
	case *types.AttributeValueMemberB:
		return base64.StdEncoding.EncodeToString(x.Value)
	case *types.AttributeValueMemberL:
		return list(x.Value, value)
	case *types.AttributeValueMemberM:
		return plain(x.Value)
	case *types.AttributeValueMemberSS:
		return list(slices.Sorted(slices.Values(x.Value)), func(s string) param.Value { return s })
	case *types.AttributeValueMemberNS:
		return list(x.Value, number)
	case *types.AttributeValueMemberBS:
		return list(x.Value, func(b []byte) param.Value { return base64.StdEncoding.EncodeToString(b) })
	}
	return nil
}

// number returns text if a number has more digits than a workflow's numbers can hold.
func number(text string) param.Value {
	v, err := param.ParseNumber(text)
	if f, isFloat := v.(float64); err != nil || isFloat && strconv.FormatFloat(f, 'f', -1, 64) != text {
		return text
	}
	return v
}

func list[T any](from []T, as func(T) param.Value) []param.Value {
	to := make([]param.Value, len(from))
	for i, x := range from {
		to[i] = as(x)
	}
	return to
}
