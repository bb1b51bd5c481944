package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	stages "zerodag/infra/settings"
	"zerodag/internal/account"
)

// NewAWS returns the commands for the AWS account to which a stage is deployed. They use the user's credentials.
func NewAWS(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "aws", Short: "Inspect the AWS account of a stage, and switch the stage off and on",
		RunE: func(c *cobra.Command, _ []string) error { return cli.ShowUsage(c, s) }}
	c.AddCommand(newDoctor(s), newCost(s), newDeployed(s), newStopStage(s), newStartStage(s))
	return c
}

// stageFolder adds the option for the folder of stage files.
func stageFolder(c *cobra.Command) *string {
	return c.Flags().String("stages", "stages", "`FOLDER` of the stage files")
}

// stageOf returns the named stage, by default main.
func stageOf(args []string) string {
	if len(args) == 0 {
		return "main"
	}
	return args[0]
}

// split splits arguments at "--".
func split(c *cobra.Command, args []string) (before, after []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

// newDoctor returns the command that reports problems in the account that would make a deployment fail.
func newDoctor(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "doctor [STAGE] [-- CDK-ARGUMENT...]", Short: "Check whether a stage can be deployed to the account, and show what to change first",
		Long: "Check whether a stage can be deployed to the account, and show what to change first.\n\n" +
			"Arguments after -- are those of the cdk command: a setting that -c NAME=VALUE overrides is checked with that value.",
		Args: func(c *cobra.Command, args []string) error {
			args, _ = split(c, args)
			return cli.UpTo(1)(c, args)
		}}
	folder := stageFolder(c)
	create := c.Flags().Bool("create-role", false, "create the role of ECS if the account has none")
	r.RegisterFormat(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.CheckFormat(); err != nil {
			return err
		}
		args, more := split(cmd, args)
		parameters := stages.Context(more)
		if _, named := parameters["stage"]; !named {
			parameters["stage"] = stageOf(args)
		}
		wanted, err := stages.ReadContext(*folder, parameters)
		if err != nil {
			return err
		}
		a, err := account.Open(cmd.Context())
		if err != nil {
			return err
		}
		if *create && wanted.HasMachines() {
			if err := a.CreateRole(cmd.Context()); err != nil {
				return err
			}
		}
		list, err := a.Doctor(cmd.Context(), wanted)
		if err != nil {
			return err
		}
		failed := 0
		for _, f := range list {
			if f.Level == account.Fail {
				failed++
			}
		}
		if err := r.Show(list, func(p cli.Printer) {
			for _, f := range list {
				p.Line("%-8s %s: %s", f.Level, f.Check, f.What)
				if f.Change != "" {
					p.Line("         -> %s", f.Change)
				}
			}
		}); err != nil {
			return err
		}
		if failed > 0 {
			return fmt.Errorf("stage %s cannot be deployed: %d of %d checks failed", wanted.Stage, failed, len(list))
		}
		return nil
	}
	return c
}

// stageSettings returns the settings of a stage as the CDK app reads them: main does not need a file.
func stageSettings(folder, stage string) (stages.Settings, error) {
	return stages.ReadContext(folder, map[string]string{"stage": stage})
}

// newDeployed returns the command that prints, for scripts, whether a stage is deployed.
func newDeployed(s cli.Streams) *cobra.Command {
	return &cobra.Command{Use: "deployed [STAGE]", Short: "Print whether the account has a table of the stage: yes, no or unknown", Args: cli.UpTo(1), RunE: func(cmd *cobra.Command, args []string) error {
		a, err := account.Open(cmd.Context())
		if err != nil {
			return err
		}
		deployed, err := a.Deployed(cmd.Context(), stageOf(args))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.Out, deployed)
		return err
	}}
}

// stopTime is how long machines may take to stop: ECS kills them after two minutes.
const stopTime = 5 * time.Minute

// newStopStage returns the command that switches a stage off, which is required before its removal.
func newStopStage(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "stop STAGE", Short: "Switch a stage off and stop its machines, for example before you remove it", Args: cli.UpTo(1)}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 { // a forgotten argument must not switch main off
			return cli.WrongCount(cmd, s, args, 1)
		}
		a, err := account.Open(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), stopTime)
		defer cancel()
		stopped, err := a.Stop(ctx, args[0])
		if err != nil {
			return err
		}
		if stopped.Left != nil {
			fmt.Fprintf(s.Err, "warning: MicroVMs of the stage may run for up to 8 hours: %v\n", stopped.Left)
		}
		_, err = fmt.Fprintf(s.Out, "stage %s is switched off; %d machines on Fargate and %d MicroVMs were stopped\n"+
			"To switch it on again: zerodag aws start %s\n", args[0], stopped.Machines, stopped.Microvms, args[0])
		return err
	}
	return c
}

// newStartStage returns the command that switches a stage on again.
func newStartStage(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "start STAGE", Short: "Switch on a stage that `zerodag aws stop` switched off", Args: cli.UpTo(1)}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cli.WrongCount(cmd, s, args, 1)
		}
		a, err := account.Open(cmd.Context())
		if err != nil {
			return err
		}
		reserved, err := a.Start(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "stage %s is switched on\n", args[0]); err != nil {
			return err
		}
		for _, f := range slices.Sorted(maps.Keys(reserved)) {
			what := "no reserved concurrency"
			if reserved[f] > 0 {
				what = fmt.Sprintf("a reserved concurrency of %d", reserved[f])
			}
			if _, err := fmt.Fprintf(s.Out, "zerodag-%s-%s has %s\n", args[0], f, what); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
