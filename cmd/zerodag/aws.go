package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	stages "zerodag/infra/settings"
	"zerodag/internal/account"
)

// newAWS is about the AWS account that a stage is deployed to, with the credentials of the user.
func newAWS(s streams) *cobra.Command {
	c := &cobra.Command{Use: "aws", Short: "Look at the AWS account that a stage is deployed to",
		RunE: func(c *cobra.Command, _ []string) error { return showUsage(c, s) }}
	c.AddCommand(newDoctor(s), newCost(s), newDeployed(s), newStop(s))
	return c
}

// stageFolder adds the option that says where the files of stages are.
func stageFolder(c *cobra.Command) *string {
	return c.Flags().String("stages", "stages", "`FOLDER` of the files of stages")
}

// stageOf is the stage that was named: main, unless another one was.
func stageOf(args []string) string {
	if len(args) == 0 {
		return "main"
	}
	return args[0]
}

// newDoctor says what in the account would make a deploy fail.
func newDoctor(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "doctor [STAGE]", Short: "Say whether a deploy of a stage will work in the account, and what to change first", Args: upTo(1)}
	folder := stageFolder(c)
	create := c.Flags().Bool("create-role", false, "make the role of ECS if the account has none")
	r.registerFormat(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.checkFormat(); err != nil {
			return err
		}
		wanted, err := stageSettings(*folder, stageOf(args))
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
		if err := r.show(list, func(p printer) {
			for _, f := range list {
				p.line("%-8s %s: %s", f.Level, f.Check, f.What)
				if f.Change != "" {
					p.line("         -> %s", f.Change)
				}
			}
		}); err != nil {
			return err
		}
		if failed > 0 {
			return fmt.Errorf("a deploy of stage %s would fail: %d of %d checks say what to change", wanted.Stage, failed, len(list))
		}
		return nil
	}
	return c
}

// stageSettings are those of a stage as the CDK app reads them: main may be without a file.
func stageSettings(folder, stage string) (stages.Settings, error) {
	wanted, err := stages.Read(folder, stage)
	if errors.Is(err, stages.ErrNoFile) && stage == "main" {
		return stages.Default(stage), nil
	}
	return wanted, err
}

// newDeployed answers scripts.
func newDeployed(s streams) *cobra.Command {
	return &cobra.Command{Use: "deployed [STAGE]", Short: "Say yes, no or unknown: whether the stage has a table in the account", Args: upTo(1), RunE: func(cmd *cobra.Command, args []string) error {
		a, err := account.Open(cmd.Context())
		if err != nil {
			return err
		}
		deployed, err := a.Deployed(cmd.Context(), stageOf(args))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, deployed)
		return err
	}}
}

// stopTime is how long machines may take to stop: ECS kills them after two minutes.
const stopTime = 5 * time.Minute

// newStop makes a stage ready for its removal.
func newStop(s streams) *cobra.Command {
	c := &cobra.Command{Use: "stop STAGE", Short: "Switch a stage off and stop its machines, before it is removed", Args: upTo(1)}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 { // main is not switched off by a word that was forgotten
			return wrongCount(cmd, s, args, 1)
		}
		a, err := account.Open(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), stopTime)
		defer cancel()
		n, err := a.Stop(ctx, args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "stage %s is switched off, %d machines were stopped\n"+
			"To switch it on again: aws lambda delete-function-concurrency --function-name zerodag-%s-agent, and the same for zerodag-%s-tick.\n", args[0], n, args[0], args[0])
		return err
	}
	return c
}
