package rb_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/operatortest"
	"zerodag/operators/rb"
)

func needRuby(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ruby"); err == nil {
		return
	}
	if strings.Contains(os.Getenv("REQUIRE"), "ruby") {
		t.Fatal("ruby is not on this machine, and REQUIRE names it")
	}
	t.Skip("NOT TESTED: ruby is not on this machine")
}

const module = `
def good
end

def slow
  puts 'begun'
  $stdout.flush
  sleep 1000
end

def hello(name, n = 3, opt: 'dflt')
  puts "hello #{name} #{n.inspect} #{opt}"
end

def everything(**all)
  puts all.keys.sort.inspect
end

class Klass
  def initialize(name, opt: 'none')
    @name = name
    @opt = opt
  end

  def meth(n)
    puts "meth #{@name} #{@opt} #{n}"
  end

  def self.of_class(name)
    puts "class #{name}"
  end

  def boom
    raise ArgumentError, 'exploded'
  end
end

module Space
  class Plain
    def run
      puts 'plain'
    end
  end
end

def results
  Digdag.env.store(a: 1, b: [1.0, nil])
  Digdag.env.store('c' => Digdag.env.params['name'])
  Digdag.env.export(d: { e: true })
  Digdag.env.set_state(x: 1)
  Digdag.env.add_subtask(:hello, name: 'sub')
  Digdag.env.add_subtask('sh>' => 'true', '_retry' => 1)
  Digdag.env.add_subtask(Klass, :meth, n: 2)
end

def ours
  Zerodag.env.store(a: Zerodag.env.params['name'])
  Zerodag.env.export(b: 1)
  Zerodag.env.set_state(x: 1)
  Zerodag.env.add_subtask(:hello, name: 'sub')
  Digdag.env.store(same: Digdag.env.equal?(Zerodag.env))
end

def unfit
  Digdag.env.add_subtask(Klass, :none)
end
`

func tasks(t *testing.T, w *operatortest.World) {
	t.Helper()
	w.File(t, "tasks.rb", module)
	w.File(t, "sub/local.rb", "def here\n  puts File.basename(Dir.pwd)\nend\n")
}

func TestRb(t *testing.T) {
	t.Parallel()
	needRuby(t)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: rb.Operator(),
		Good:     `{"_command": "good", "require": "tasks"}`,
		Slow:     `{"_command": "slow", "require": "tasks"}`,
		ReadsAll: true,
		Prepare:  tasks,
		Wrong: []string{
			`{}`, `{"_command": []}`, `{"_command": "good", "rb": 1}`, `{"_command": "good", "ruby": {}}`,
			`{"_command": "good", "ruby": [[]]}`, `{"_command": "good", "require": []}`,
		},
	})
}

func TestOutput(t *testing.T) {
	t.Parallel()
	needRuby(t)
	for params, want := range map[string]string{
		`{"_command": "hello", "name": "é"}`:                                                     "hello é 3 dflt\n",
		`{"_command": "hello", "name": "x", "n": 1.5, "opt": "given"}`:                           "hello x 1.5 given\n",
		`{"_command": "everything", "b": 1, "a": {"c": 1}}`:                                      "[:_command, :a, :b, :rb, :require]\n",
		`{"_command": "Klass.meth", "name": "N", "n": 3}`:                                        "meth N none 3\n",
		`{"_command": "::Klass.meth", "name": "N", "n": 3, "opt": "O"}`:                          "meth N O 3\n",
		`{"_command": "Klass.of_class", "name": "N"}`:                                            "class N\n",
		`{"_command": "Space::Plain.run"}`:                                                       "plain\n",
		`{"_command": "here", "_workdir": "sub", "require": "local"}`:                            "sub\n",
		`{"_command": "here", "_workdir": "sub", "require": "local.rb", "ruby": ["ruby", "-w"]}`: "sub\n",
	} {
		if !strings.Contains(params, "require") {
			params = params[:len(params)-1] + `, "rb": {"require": "tasks"}}`
		}
		w := operatortest.New(t, params)
		tasks(t, w)
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, rb.Operator(), w)); diff != "" {
			t.Errorf("%s: %s\n%s", params, diff, w.Output)
		}
		if diff := cmp.Diff(want, w.Output.String()); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	needRuby(t)
	w := operatortest.New(t, `{"_command": "results", "require": "tasks", "name": "world"}`)
	tasks(t, w)
	want := operatortest.Ended{
		Store:  `{"a":1,"b":[1.0,null],"c":"world"}`,
		Export: `{"d":{"e":true}}`,
		Subtasks: `{"+subtask0":{"name":"sub","rb>":"hello"},"+subtask1":{"sh>":"true","_retry":1},` +
			`"+subtask2":{"n":2,"rb>":"::Klass.meth"}}`,
	}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, rb.Operator(), w)); diff != "" {
		t.Errorf("%s\n%s", diff, w.Output)
	}
	w = operatortest.New(t, `{"_command": "ours", "require": "tasks", "name": "world"}`)
	tasks(t, w)
	want = operatortest.Ended{Store: `{"a":"world","same":true}`, Export: `{"b":1}`, Subtasks: `{"+subtask0":{"name":"sub","rb>":"hello"}}`}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, rb.Operator(), w)); diff != "" {
		t.Errorf("by our name: %s\n%s", diff, w.Output)
	}
	w = operatortest.New(t, `{"_command": "Zerodag.mine", "require": "own"}`)
	w.File(t, "own.rb", "class Zerodag\n  def self.mine\n    Digdag.env.store(a: 1)\n  end\nend\n")
	if diff := cmp.Diff(operatortest.Ended{Store: `{"a":1}`}, operatortest.RunOnce(t, rb.Operator(), w)); diff != "" || strings.Contains(w.Output.String(), "warning") {
		t.Errorf("a class of the project: %s\n%s", diff, w.Output)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	needRuby(t)
	for params, want := range map[string]string{
		`{"_command": "Klass.boom", "name": "x"}`: "ArgumentError: exploded",
		`{"_command": "hello"}`:                   "ArgumentError: Method 'Object#hello' requires parameter 'name' but not set",
		`{"_command": "Klass.meth", "n": 1}`:      "ArgumentError: Method 'Klass.new' requires parameter 'name' but not set",
		`{"_command": "unfit"}`:                   "ArgumentError: Class Klass does not have method :none",
		`{"_command": "None.x"}`:                  "NameError: uninitialized constant None",
	} {
		w := operatortest.New(t, params[:len(params)-1]+`, "require": "tasks"}`)
		tasks(t, w)
		got := operatortest.RunOnce(t, rb.Operator(), w)
		if !strings.HasPrefix(got.Error, want) {
			t.Errorf("%s: got %+v, want %q", params, got, want)
		}
	}
}
