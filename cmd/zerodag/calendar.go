package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/icalendar"
)

// newCalendar returns the command that creates calendars for schedules.
func newCalendar(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "calendar", Short: "Create calendars of business days for schedules"}
	c.AddCommand(&cobra.Command{
		Use:     "from-ics FILE",
		Short:   "Convert an iCalendar file, such as one of public holidays, into a calendar",
		Example: "  zerodag calendar from-ics holidays.ics > calendars/jp.yml    # then in a workflow: schedule: {calendar: calendars/jp.yml}",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.WrongCount(c, s, args, 1)
			}
			text, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read calendar: %w", err)
			}
			days, err := icalendar.Days(string(text))
			if err == nil && len(days) == 0 {
				err = errors.New("it contains no events")
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			_, err = s.Out.Write([]byte(calendarText(days)))
			return err
		},
	})
	return c
}

// calendarText returns a calendar as the text of a file.
func calendarText(days []icalendar.Day) string {
	var b strings.Builder
	b.WriteString("weekend: [sat, sun]\nholidays:\n")
	for _, d := range days {
		b.WriteString("  - " + d.Date.Format(time.DateOnly))
		if d.Name != "" {
			b.WriteString(" # " + d.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}
