package gcp

import (
	"path"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
)

// readLoad builds the job of `bq_load>`.
func readLoad(w *work) (*param.Map, error) {
	uris, err := textOrTexts(w.params, "_command", param.ParseList)
	if err != nil {
		return nil, err
	}
	if text, single := uris.(string); single {
		uris = []param.Value{text}
	}
	load := param.New("sourceUris", uris)
	if w.params.Has("schema") {
		schema, err := w.schema()
		if err != nil {
			return nil, err
		}
		load.Set("schema", schema)
	}
	name, err := w.params.String("destination_table")
	if err != nil {
		return nil, err
	}
	to, err := w.readTable(name)
	if err != nil {
		return nil, err
	}
	load.Set("destinationTable", to.resource())
	if err := w.set(load,
		option{"create_disposition", "createDisposition", asText},
		option{"write_disposition", "writeDisposition", asText},
		option{"source_format", "sourceFormat", asText},
		option{"field_delimiter", "fieldDelimiter", asText},
		option{"skip_leading_rows", "skipLeadingRows", asNumber},
		option{"encoding", "encoding", asText},
		option{"quote", "quote", asText},
		option{"max_bad_records", "maxBadRecords", asNumber},
		option{"allow_quoted_newlines", "allowQuotedNewlines", asSwitch},
		option{"allow_jagged_rows", "allowJaggedRows", asSwitch},
		option{"ignore_unknown_values", "ignoreUnknownValues", asSwitch},
		option{"autodetect", "autodetect", asSwitch},
	); err != nil {
		return nil, err
	}
	for _, list := range [][2]string{{"projection_fields", "projectionFields"}, {"schema_update_options", "schemaUpdateOptions"}} {
		texts, err := operators.ReadOr(w.params, list[0], operators.ListOf, nil)
		if err != nil {
			return nil, err
		}
		load.Set(list[1], values(texts)) // an empty one is also sent, as in Digdag
	}
	return param.New("load", load), nil
}

func values(texts []string) []param.Value {
	out := make([]param.Value, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// textOrTexts reads a list of strings, or a single string.
func textOrTexts(p *operators.Params, key string, asList func(string, param.Value) ([]param.Value, error)) (param.Value, error) {
	list, err := operators.Read(p, key, asList)
	if err != nil {
		return p.String(key)
	}
	texts, err := operators.ListOf(key, list)
	return values(texts), err
}

// schema returns the schema of the table: from the task, or from a JSON or YAML file, which may contain `${...}`.
func (w *work) schema() (*param.Map, error) {
	if written, err := operators.Read(w.params, "schema", param.AsMap); err == nil {
		return written, nil
	}
	name, err := w.params.String("schema")
	if err != nil {
		return nil, err
	}
	file := operators.NewParams(param.New("_command", name))
	text, err := w.CommandText(file, "")
	if err != nil {
		return nil, err
	}
	var v param.Value
	if path.Ext(name) == ".json" {
		v, err = param.ParseJSON(text)
	} else {
		v, err = dig.ParseYAML(name, []byte(text))
	}
	if err != nil {
		return nil, param.Errorf("'schema' cannot be read from %s: %v", name, err)
	}
	m, isMap := v.(*param.Map)
	if !isMap {
		return nil, param.Errorf("'schema' of %s must be a mapping: write its columns below `fields`, as in fields: [{name: id, type: INTEGER}]", name)
	}
	return m, nil
}

// readExtract builds the job of `bq_extract>`.
func readExtract(w *work) (*param.Map, error) {
	extract := param.New()
	to, err := textOrTexts(w.params, "destination", param.AsList)
	if err != nil {
		return nil, err
	}
	if _, single := to.(string); single {
		extract.Set("destinationUri", to)
	} else {
		extract.Set("destinationUris", to)
	}
	name, err := w.params.String("_command")
	if err != nil {
		return nil, err
	}
	from, err := w.readTable(name)
	if err != nil {
		return nil, err
	}
	extract.Set("sourceTable", from.resource())
	err = w.set(extract,
		option{"print_header", "printHeader", asSwitch},
		option{"field_delimiter", "fieldDelimiter", asText},
		option{"destination_format", "destinationFormat", asText},
		option{"compression", "compression", asText},
	)
	return param.New("extract", extract), err
}
