package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/internal/client"
	"zerodag/internal/connection"
	"zerodag/internal/projectfiles"
	"zerodag/internal/projectfolder"
	"zerodag/operators/all"
)

// proposal returns completions for one argument. before holds the preceding arguments.
type proposal func(ctx context.Context, c *cobra.Command, before []string) ([]string, error)

// completions returns proposals for the arguments of commands, by kind.
func completions() map[string][]proposal {
	return map[string][]proposal{
		"run": {workflowFiles, workflowTasks}, "check": {workflowFiles}, "operators": {operatorNames},
		"projects": {projectNames}, "workflows": {projectNames, workflowNames}, "start": {projectNames, workflowNames}, "sessions": {projectNames, workflowNames},
		"status": {projectNames}, "push": {projectNames}, "download": {projectNames}, "delete": {projectNames},
		"backfill": {projectNames, workflowNames}, "reschedule": {projectNames, workflowNames},
		"attempt": {attemptIDs}, "tasks": {attemptIDs}, "log": {attemptIDs, taskNames}, "kill": {attemptIDs}, "pause": {attemptIDs}, "unpause": {attemptIDs}, "watch": {attemptIDs}, "retry": {attemptIDs},
	}
}

// completeTime limits how long a shell waits for a server.
const completeTime = 2 * time.Second

// completeArguments enables shell completion of arguments. For a command that takes files, shells complete files.
func completeArguments(root *cobra.Command) {
	list := completions()
	for _, c := range root.Commands() {
		if proposals, known := list[c.Name()]; known {
			c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				if len(args) >= len(proposals) {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return proposals[len(args)].complete(c, args, begun)
			}
		}
	}
	completeOptions(root)
}

// complete returns completions in cobra's form for an argument that begins with the given text.
func (p proposal) complete(c *cobra.Command, before []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, stop := context.WithTimeout(context.Background(), completeTime)
	defer stop()
	found, err := p(ctx, c, before)
	if err != nil {
		cobra.CompDebugln(err.Error(), false) // there is no place for errors during completion
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(found, func(text string) bool { return !strings.HasPrefix(text, begun) }), cobra.ShellCompDirectiveNoFileComp
}

func operatorNames(context.Context, *cobra.Command, []string) ([]string, error) {
	var names []string
	registry := all.Registry()
	for _, name := range registry.Names() {
		names = append(names, name+"\t"+registry[name].Summary)
	}
	return names, nil
}

// workflowFiles returns the workflow files of the project's folder, without reading them.
func workflowFiles(_ context.Context, c *cobra.Command, _ []string) ([]string, error) {
	_, names, err := filesHere(c)
	return names, err
}

// filesHere returns the workflow files of the folder that the options of a command name.
func filesHere(c *cobra.Command) (projectfolder.Folder, []string, error) {
	folder, _ := c.Flags().GetString("project") // "" is the current folder
	p, err := projectfolder.Open(folder)
	if err != nil {
		return p, nil, err
	}
	all, err := p.List()
	return p, projectfiles.WorkflowNames(all), err
}

// workflowTasks returns the tasks of the workflow in the preceding argument. Mistakes in other files do not matter.
func workflowTasks(_ context.Context, c *cobra.Command, before []string) ([]string, error) {
	if len(before) == 0 {
		return nil, nil
	}
	p, _, err := filesHere(c)
	if err != nil {
		return nil, err
	}
	workflows, _, err := dig.LoadHere(p.Source, []string{p.WorkflowName(before[0]) + ".dig"})
	if err != nil || len(workflows) == 0 {
		return nil, err
	}
	d, err := engine.Define(workflows[0])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range d.Nodes[1:] {
		names = append(names, strings.TrimPrefix(n.Name, d.Nodes[0].Name))
	}
	return names, nil
}

// serverOf returns the server that the options of a command name.
func serverOf(c *cobra.Command) (*client.Client, error) {
	r := &remote{cli.Remote{Streams: cli.Streams{Err: io.Discard, ProgramVersion: version()}, Choice: connection.Choice{NoCheck: true}}}
	for name, to := range map[string]*string{"endpoint": &r.Endpoint, "context": &r.Context, "token": &r.Token, "basic-auth": &r.BasicAuth, "config": &r.Config} {
		*to, _ = c.Flags().GetString(name) // each client command has them
	}
	r.IAM, _ = c.Flags().GetBool("iam")
	r.NoCert, _ = c.Flags().GetBool("disable-cert-validation")
	r.Headers, _ = c.Flags().GetStringArray("header")
	r.System, _ = c.Flags().GetStringArray("property")
	var err error
	if r.Settings, err = r.Load(); err != nil {
		return nil, err
	}
	err = r.Dial()
	return r.Client, err
}

func projectNames(ctx context.Context, c *cobra.Command, _ []string) ([]string, error) {
	r, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	return connection.ProjectNames(ctx, r)
}

func workflowNames(ctx context.Context, c *cobra.Command, before []string) ([]string, error) {
	r, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	p, err := r.Project(ctx, before[0])
	if err != nil {
		return nil, err
	}
	return connection.WorkflowNames(ctx, r, p.ID)
}

func attemptIDs(ctx context.Context, c *cobra.Command, _ []string) ([]string, error) {
	r, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	list, err := r.Attempts(ctx, "", client.Page{Count: connection.MostProposed})
	var ids []string
	for _, a := range list {
		ids = append(ids, fmt.Sprintf("%s\t%s/%s %s %s", a.ID, a.Project.Name, a.Workflow.Name, a.SessionTime.Format("2006-01-02 15:04"), a.Status))
	}
	return ids, err
}

func taskNames(ctx context.Context, c *cobra.Command, before []string) ([]string, error) {
	if len(before) == 0 {
		return nil, nil
	}
	r, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	list, err := r.Tasks(ctx, client.ID(before[0]))
	var names []string
	for _, t := range list {
		names = append(names, t.FullName)
	}
	return names, err
}
