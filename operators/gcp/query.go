package gcp

import (
	"zerodag/engine/param"
	"zerodag/operators"
)

// option is a parameter that is sent to BigQuery under a different name, if it is set.
type option struct {
	key, name string
	as        func(key string, v param.Value) (param.Value, error)
}

// Types of options.
func asText(key string, v param.Value) (param.Value, error)   { return param.AsString(key, v) }
func asNumber(key string, v param.Value) (param.Value, error) { return param.AsInt(key, v) }
func asSwitch(key string, v param.Value) (param.Value, error) { return param.AsBool(key, v) }
func asMapping(key string, v param.Value) (param.Value, error) {
	return param.AsMap(key, v)
}
func asList(key string, v param.Value) (param.Value, error) { return param.AsList(key, v) }

// set adds to a resource the options that a task has.
func (w *work) set(into *param.Map, options ...option) error {
	for _, o := range options {
		v, err := operators.ReadOr(w.params, o.key, o.as, nil)
		if err != nil {
			return err
		}
		if v != nil {
			into.Set(o.name, v)
		}
	}
	return nil
}

// readQuery builds the job of `bq>`.
func readQuery(w *work) (*param.Map, error) {
	text, err := w.CommandText(w.params, "query")
	if err != nil {
		return nil, err
	}
	legacy, err := w.params.BoolOr("use_legacy_sql", false)
	if err != nil {
		return nil, err
	}
	query := param.New("query", text, "useLegacySql", legacy)
	if err := w.set(query,
		option{"allow_large_results", "allowLargeResults", asSwitch},
		option{"use_query_cache", "useQueryCache", asSwitch},
		option{"create_disposition", "createDisposition", asText},
		option{"write_disposition", "writeDisposition", asText},
		option{"flatten_results", "flattenResults", asSwitch},
		option{"maximum_billing_tier", "maximumBillingTier", asNumber},
		option{"priority", "priority", asText},
		option{"table_definitions", "tableDefinitions", asMapping},
		option{"user_defined_function_resources", "userDefinedFunctionResources", asList},
	); err != nil {
		return nil, err
	}
	of, err := w.dataset()
	if err != nil {
		return nil, err
	}
	if of != nil {
		query.Set("defaultDataset", of.resource())
	}
	if name, err := w.params.StringOr("destination_table", ""); err != nil {
		return nil, err
	} else if w.params.Has("destination_table") {
		to, err := w.readTable(name)
		if err != nil {
			return nil, err
		}
		query.Set("destinationTable", to.resource())
	}
	return param.New("query", query), nil
}
