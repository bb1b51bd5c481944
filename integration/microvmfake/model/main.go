// Command model writes the data that the fake checks requests and responses against: names, types and limits of the
// operations that zerodag uses, from AWS's service model. The file is from botocore's package (service-2.json.gz,
// unpacked or not):
//
//	go run ./integration/microvmfake/model FILE > integration/microvmfake/model.json
//
// It must never be needed to build or to test.
package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// used lists the operations that zerodag calls.
var used = []string{"RunMicrovm", "GetMicrovm", "ListMicrovms", "TerminateMicrovm", "ListManagedMicrovmImageVersions"}

// kept lists the keys of the model that are copied.
var kept = []string{"type", "required", "members", "member", "key", "value", "shape", "location", "locationName", "max", "min", "pattern", "enum", "union", "error", "httpStatusCode"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("missing argument: the file of the model")
	}
	f, err := os.Open(args[0]) // #nosec G304 G703 -- the user names it
	if err != nil {
		return err
	}
	defer f.Close()
	var text io.Reader = f
	if strings.HasSuffix(args[0], ".gz") {
		if text, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("unpack the model: %w", err)
		}
	}
	var all struct {
		Metadata   struct{ APIVersion, Protocol, SigningName string }
		Operations map[string]struct {
			HTTP struct {
				Method, RequestURI string
				ResponseCode       int
			}
			Input, Output struct{ Shape string }
			Errors        []struct{ Shape string }
		}
		Shapes map[string]map[string]any
	}
	if err := json.NewDecoder(text).Decode(&all); err != nil {
		return fmt.Errorf("read the model: %w", err)
	}
	operations, shapes := map[string]any{}, map[string]any{}
	for _, name := range used {
		o, found := all.Operations[name]
		if !found {
			return fmt.Errorf("the model has no operation %s", name)
		}
		errs := []string{}
		for _, e := range o.Errors {
			errs = append(errs, e.Shape)
			take(all.Shapes, e.Shape, shapes)
		}
		slices.Sort(errs)
		take(all.Shapes, o.Input.Shape, shapes)
		take(all.Shapes, o.Output.Shape, shapes)
		operations[name] = map[string]any{"method": o.HTTP.Method, "uri": o.HTTP.RequestURI, "status": o.HTTP.ResponseCode, "input": o.Input.Shape, "output": o.Output.Shape, "errors": errs}
	}
	out, err := json.MarshalIndent(map[string]any{"version": all.Metadata.APIVersion, "protocol": all.Metadata.Protocol, "signingName": all.Metadata.SigningName,
		"operations": operations, "shapes": shapes}, "", "\t")
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	fmt.Println(string(out))
	return nil
}

// take copies a shape and all shapes that it refers to.
func take(all map[string]map[string]any, name string, into map[string]any) {
	if _, there := into[name]; there || name == "" {
		return
	}
	into[name] = nil
	into[name] = bare(all[name], func(of string) { take(all, of, into) })
}

// bare returns a part of the model without its documentation.
func bare(v any, found func(shape string)) any {
	m, is := v.(map[string]any)
	if !is {
		return v
	}
	out := map[string]any{}
	for key, v := range m {
		if !slices.Contains(kept, key) {
			continue
		}
		if name, isName := v.(string); key == "shape" && isName {
			found(name)
		}
		if members, isMap := v.(map[string]any); key == "members" && isMap {
			each := map[string]any{}
			for name, v := range members {
				each[name] = bare(v, found)
			}
			out[key] = each
			continue
		}
		out[key] = bare(v, found)
	}
	return out
}
