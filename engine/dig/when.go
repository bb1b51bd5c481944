package dig

import (
	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// zoneOf reads `timezone`.
func zoneOf(v param.Value) (string, error) {
	name, err := param.AsString("timezone", v)
	if err != nil {
		return "", err
	}
	_, err = schedule.Zone(name)
	return schedule.ZoneID(name), err
}

// scheduleFault checks `schedule` the way a push does. A null is a mistake, not "none".
func scheduleFault(w Workflow) error {
	v, ok := w.Config.Get("schedule")
	if !ok {
		return nil
	}
	if v == nil {
		return param.Errorf("Parameter 'schedule' is required but null")
	}
	config, ok := v.(*param.Map)
	if !ok {
		return param.Errorf("Expected object type for key 'schedule' but got %s (%s)", sample(v), param.KindOf(v))
	}
	zone, err := schedule.Zone(w.Zone)
	if err == nil {
		_, err = schedule.Parse(config, zone)
	}
	return err
}
