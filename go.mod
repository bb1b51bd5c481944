module zerodag

go 1.26.0

require (
	github.com/dop251/goja v0.0.0-20260917113740-793a2a65c13b
	github.com/robfig/cron/v3 v3.0.1
	gopkg.in/yaml.v3 v3.0.1
	pgregory.net/rapid v1.3.0
)

require github.com/google/go-cmp v0.7.0 // indirect

replace github.com/google/pprof => github.com/google/pprof v0.0.0-20230207041349-798e818bf904
