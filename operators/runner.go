package operators

import (
	"fmt"
	"strings"

	"zerodag/engine"
	"zerodag/engine/param"
)

// Report is what a script language's runner writes to OutputFile: the task's results, or why it failed.
type Report struct {
	Subtasks, Export, Store *param.Map

	ErrorClass, ErrorMessage string // empty if there was no error
	Backtrace                []string
}

// The files of the protocol between an operator and a runner: parameters in as {"params": {...}}, results out.
const (
	InputFile  = "input.json"
	OutputFile = "output.json"
)

// RunnerInput returns the content of InputFile.
func RunnerInput(params *param.Map) []byte {
	return param.AppendJSON(nil, param.New("params", params))
}

// ParseReport reads the content of OutputFile; the user's program wrote it, so it may contain anything.
func ParseReport(content []byte) (*Report, error) {
	report, err := parseReport(content)
	if err != nil {
		// This is never a ConfigError: the text comes from a program, not from the project.
		return nil, fmt.Errorf("read %s: %s", OutputFile, err) //nolint:errorlint // the text is for the task, which has no use for the cause
	}
	return report, nil
}

func parseReport(content []byte) (*Report, error) {
	v, err := param.ParseJSON(string(content))
	if err != nil {
		return nil, err
	}
	top, err := param.AsMap(OutputFile, v)
	if err != nil {
		return nil, err
	}
	p, r := NewParams(top), &Report{}
	if r.Subtasks, err = ReadOr(p, "subtask_config", param.AsMap, nil); err != nil {
		return nil, err
	}
	values, err := ReadOr(p, "subtask_params", param.AsMap, nil)
	if err != nil {
		return nil, err
	}
	if r.Subtasks, err = withData(r.Subtasks, values); err != nil {
		return nil, err
	}
	if r.Export, err = ReadOr(p, "export_params", param.AsMap, nil); err != nil {
		return nil, err
	}
	if r.Store, err = ReadOr(p, "store_params", param.AsMap, nil); err != nil {
		return nil, err
	}
	failure, err := ReadOr(p, "error", param.AsMap, param.New())
	if err != nil {
		return nil, err
	}
	return r, r.readError(NewParams(failure))
}

// withData returns subtasks in which the parameters for function calls are data; names lists them by subtask. The rest
// of a generated config is code.
func withData(subtasks, names *param.Map) (*param.Map, error) {
	if names.Len() == 0 {
		return subtasks, nil
	}
	out := subtasks.Clone()
	for task, v := range names.All() {
		keys, err := ListOf(task, v)
		config := out.Map(task)
		if err != nil {
			return nil, err
		}
		if config == nil {
			return nil, param.Errorf("subtask_params names %s, which is not a subtask", task)
		}
		config = config.Clone()
		for _, key := range keys {
			if v, ok := config.Get(key); ok {
				config.Set(key, param.Data(v))
			}
		}
		out.Set(task, config)
	}
	return out, nil
}

func (r *Report) readError(p *Params) error {
	var err error
	if r.ErrorClass, err = p.StringOr("class", ""); err != nil {
		return err
	}
	if r.ErrorMessage, err = p.StringOr("message", ""); err != nil {
		return err
	}
	lines, err := ReadOr(p, "backtrace", param.AsList, nil)
	if err != nil {
		return err
	}
	for _, line := range lines {
		text, err := param.AsString("backtrace", line)
		if err != nil {
			return err
		}
		r.Backtrace = append(r.Backtrace, text)
	}
	return nil
}

// Reason returns the program's error as the last line of its language's error output shows it, `ValueError: no such column: x`; "" if
// there is none.
func (r *Report) Reason() string {
	switch {
	case r.ErrorClass == "":
		return r.ErrorMessage
	case strings.TrimSpace(r.ErrorMessage) == "":
		return r.ErrorClass
	}
	return r.ErrorClass + ": " + r.ErrorMessage
}

// longestTrace limits the traceback that a failure keeps, in bytes. The log has the program's whole output.
const longestTrace = 16 << 10

// Trace returns the traceback of the error, or the beginning and the end of a long one.
func (r *Report) Trace() string {
	var b strings.Builder
	for _, line := range r.Backtrace {
		b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
	}
	text := strings.TrimRight(b.String(), "\n")
	if len(text) <= longestTrace {
		return text
	}
	half := longestTrace / 2
	return strings.ToValidUTF8(text[:half], "") + "\n...\n" + strings.ToValidUTF8(text[len(text)-half:], "")
}

// Result returns the task's result after the program succeeded.
func (r *Report) Result() Result {
	result := Result{Export: r.Export, Store: r.Store}
	if r.Subtasks.Len() > 0 {
		result.Subtasks = r.Subtasks
	}
	return result
}

// Words reads a program with its options: text or a list of text values.
func Words(key string, v param.Value) ([]string, error) {
	switch x := v.(type) {
	case string:
		return []string{x}, nil
	case []param.Value:
		return ListOf(key, x)
	}
	return nil, param.Errorf("Invalid %s: %s", key, param.Text(v))
}

// RunnerResult converts a runner's exit to the task's result. A failure has the message of the program's error. failed
// begins the message if the program left none.
func RunnerResult(exit Exit, failed string) (Result, error) {
	output, written := exit.Outputs[OutputFile]
	if exit.Code == 0 {
		if !written {
			return Result{}, Faultf("", "%s does not exist. Something unexpected error happened. Please check logs.", OutputFile)
		}
		report, err := ParseReport(output)
		if err != nil {
			return Result{}, err
		}
		return report.Result(), nil
	}
	message := fmt.Sprintf("%s with %v", failed, exit)
	if written {
		report, err := ParseReport(output)
		if err != nil {
			return Result{}, Faultf("", "%s\n\tCan't parse %s. The command failed unexpectedly. Please check logs.", message, OutputFile)
		}
		if reason := report.Reason(); reason != "" {
			return Result{}, &Failure{Message: reason, Properties: param.New(engine.ExitCodeKey, int64(exit.Code)), Trace: report.Trace()}
		}
	}
	return Result{}, Faultf("", "%s", message)
}
