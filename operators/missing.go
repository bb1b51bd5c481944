package operators

import (
	"regexp"
	"slices"
	"strings"
)

// ofPlugins lists operators of public plugins, and the closest equivalents here: the table of
// docs/how-to/plugin-operators.md. A name that ends with a dot stands for all names that begin with it.
var ofPlugins = []struct{ name, plugin, instead string }{
	{"athena.query", "digdag-operator-athena", "athena>"},
	{"athena.preview", "digdag-operator-athena", "athena> with preview: true"},
	{"athena.ctas", "digdag-operator-athena", "athena> with create table ... as"},
	{"athena.apas", "digdag-operator-athena", "athena> with insert into"},
	{"athena.add_partition", "digdag-operator-athena", "athena> with the statement"},
	{"athena.drop_partition", "digdag-operator-athena", "athena> with the statement"},
	{"athena.drop_table", "digdag-operator-athena", "athena> with the statement"},
	{"athena.drop_table_multi", "digdag-operator-athena", "athena> with the statement"},
	{"athena.table_exists?", "digdag-operator-athena", "athena> with a query of information_schema"},
	{"athena.partition_exists?", "digdag-operator-athena", "athena> with a query of information_schema"},
	{"athena.each_database", "digdag-operator-athena", "athena> with a query of information_schema"},
	{"ecs_task.sh", "digdag-operator-ecs_task", "sh>, py>, rb>, embulk> with docker: {image: ...}, which run on Fargate in a deployment on AWS"},
	{"ecs_task.py", "digdag-operator-ecs_task", "sh>, py>, rb>, embulk> with docker: {image: ...}, which run on Fargate in a deployment on AWS"},
	{"ecs_task.rb", "digdag-operator-ecs_task", "sh>, py>, rb>, embulk> with docker: {image: ...}, which run on Fargate in a deployment on AWS"},
	{"ecs_task.embulk", "digdag-operator-ecs_task", "sh>, py>, rb>, embulk> with docker: {image: ...}, which run on Fargate in a deployment on AWS"},
	{"ecs_task.run", "digdag-operator-ecs_task", "ecs>, which waits for the end"},
	{"ecs_task.wait", "digdag-operator-ecs_task", "ecs>, which waits for the end"},
	{"ecs_task.register", "digdag-operator-ecs_task", "sh> with aws ecs register-task-definition"},
	{"ecs_task.result", "digdag-operator-ecs_task", "py> that reads the result and stores it"},
	{"ecs_register", "digdag-plugin-ecs", "sh> with aws ecs register-task-definition"},
	{"ecs_run", "digdag-plugin-ecs", "ecs>"},
	{"aws.ecs.run_task", "digdag-operator-aws-ecs", "ecs>"},
	{"aws.appconfig.get_configuration", "digdag-operator-aws-appconfig", "py> with boto3"},
	{"emr_fleet.create_cluster", "digdag-operator-emr_fleet", "emr>, whose cluster ends with its steps, or sh> with aws emr"},
	{"emr_fleet.detect_clusters", "digdag-operator-emr_fleet", "emr>, whose cluster ends with its steps, or sh> with aws emr"},
	{"emr_fleet.wait_cluster", "digdag-operator-emr_fleet", "emr>, whose cluster ends with its steps, or sh> with aws emr"},
	{"emr_fleet.shutdown_cluster", "digdag-operator-emr_fleet", "emr>, whose cluster ends with its steps, or sh> with aws emr"},
	{"glue.start_job_run", "digdag-plugin-glue", "glue>"},
	{"glue.start_crawler", "digdag-plugin-glue", "glue> with crawler"},
	{"livy.submit_job", "digdag-operator-livy", "emr>, or a project operator that polls Livy"},
	{"livy.wait_job", "digdag-operator-livy", "emr>, or a project operator that polls Livy"},
	{"livy", "digdag-plugin-livy", "emr>, or a project operator that polls Livy"},
	{"cost_explorer.get_cost", "digdag-operator-cost_explorer", "py> with boto3"},
	{"s3_touch", "digdag-plugin-s3-touch", "sh> with aws s3api put-object"},
	{"pg_lock", "digdag-operator-pg_lock", "_parallel: {limit: 1}, or a lock with dynamodb> or flock"},
	{"pg_unlock", "digdag-operator-pg_lock", "_parallel: {limit: 1}, or a lock with dynamodb> or flock"},
	{"myjdbc", "digdag-plugin-myjdbc", "pg>, mysql>, or sh> with the client of the database"},
	{"mssql", "digdag-plugin-mssql", "sh> with sqlcmd"},
	{"snow", "digdag_operator_snowflake", "sh> with snow sql"},
	{"bq_wait", "digdag-operator-bq-wait", "a project operator that polls until the target exists"},
	{"gcs_download", "digdag-gcs-download", "sh> with gcloud storage cp"},
	{"blob_wait", "digdag-plugin-azure", "a project operator that polls until the target exists"},
	{"storage_queue_wait", "digdag-plugin-azure", "a project operator that polls until the target exists"},
	{"dfs_wait", "digdag-plugin-dfs_wait", "a project operator that polls until the target exists"},
	{"gke", "digdag-operator-gke", "sh> with gcloud and kubectl"},
	{"k8s_job", "k8s_job", "sh> with kubectl"},
	{"retz_run", "retz-digdag-plugin", "sh>, ecs> or batch>"},
	{"datadog_event", "digdag-plugin-datadog", "http>"},
	{"sentry", "digdag-plugin-sentry", "sh> with sentry-cli"},
	{"hangouts", "digdag-hangouts-chat", "http>"},
	{"chatwork", "digdag-chatwork", "http>"},
	{"prometheus", "digdag-prometheus", "http> to its Pushgateway"},
	{"sh_result", "digdag-plugin-shresult", "a project operator of ten lines"},
	{"ssh_result", "digdag-plugin-sshresult", "ssh>, or a project operator of ten lines"},
	{"param_store", "digdag-operator-param", "py> with zerodag.env.store"},
	{"param_reset", "digdag-operator-param", "py> with zerodag.env.store(NAME=None)"},
	{"param_eval", "digdag-operator-param", "_export, with eval: {stored: true} for stored values"},
	{"athena.", "digdag-operator-athena", "athena>"},
	{"ecs_task.", "digdag-operator-ecs_task", "ecs>, or a command with docker: {image: ...}"},
	{"emr_fleet.", "digdag-operator-emr_fleet", "emr>"},
	{"glue.", "digdag-plugin-glue", "glue>"},
	{"livy.", "digdag-operator-livy", "emr>"},
	{"ipynb", "a plugin for notebooks", "sh> with papermill or jupyter nbconvert"},
}

// otherNames maps operator names in other tools to the names used here.
var otherNames = map[string]string{
	"bash": "sh", "shell": "sh", "cmd": "sh", "command": "sh", "exec": "sh", "script": "sh", "run": "sh",
	"python": "py", "python3": "py", "ruby": "rb", "print": "echo", "log": "echo", "message": "echo",
	"email": "mail", "sendmail": "mail", "postgres": "pg", "postgresql": "pg", "psql": "pg", "sql": "pg",
	"sleep": "wait", "delay": "wait", "curl": "http", "request": "http", "rest": "http", "webhook": "http",
	"foreach": "for_each", "for": "for_each", "map": "for_each", "while": "loop", "repeat": "loop", "when": "if", "switch": "if",
	"include": "call", "workflow": "call", "subworkflow": "call", "trigger": "require", "depends_on": "require", "error": "fail", "exit": "fail", "abort": "fail", "raise": "fail",
}

// byCommand maps names of programs that are not operators to the ways to run them.
func byCommand() map[string]string {
	return map[string]string{
		"docker": "write `docker: {image: IMAGE}` at a task with sh>, py> or rb>", "container": "write `docker: {image: IMAGE}` at a task with sh>, py> or rb>",
		"k8s": "write `sh>: kubectl ...`", "kubernetes": "write `sh>: kubectl ...`", "kubectl": "write `sh>: kubectl ...`",
		"dbt": "write `sh>: dbt run`", "spark": "write `sh>: spark-submit ...`, or emr>", "spark_submit": "write `sh>: spark-submit ...`, or emr>",
		"snowflake": "write `sh>: snow sql ...`", "databricks": "write `sh>: databricks ...`", "terraform": "write `sh>: terraform ...`", "ansible": "write `sh>: ansible-playbook ...`",
		"aws": "write `sh>: aws ...`", "gcloud": "write `sh>: gcloud ...`", "git": "write `sh>: git ...`", "node": "write `sh>: node ...`", "npm": "write `sh>: npm ...`",
		"java": "write `sh>: java ...`", "go": "write `sh>: go ...`", "make": "write `sh>: make ...`", "rsync": "write `sh>: rsync ...`", "scp": "write `sh>: scp ...`",
		"perl": "write `sh>: perl ...`", "php": "write `sh>: php ...`", "r": "write `sh>: Rscript ...`", "powershell": "write `sh>: pwsh ...`", "sqlite": "write `sh>: sqlite3 ...`",
		"bigquery": "it is called bq> here (`zerodag operators bq`)", "s3": "use s3_wait>, s3_copy>, s3_move> or s3_delete>", "gcs": "use gcs_wait> to wait, `sh>: gcloud storage cp ...` to copy",
		"ftp": "write `sh>: curl ...`", "sftp": "write `sh>: sftp ...`", "kafka": "write it as a command of sh> or py>", "oracle": "write it as a command of sh> or py>",
		"sqlserver": "write `sh>: sqlcmd ...`", "teams": "use http> to post to its webhook", "discord": "use http> to post to its webhook", "telegram": "use http> to post to its API", "parallel": "write `_parallel: true` in a group",
		"set": "write `_export: {NAME: value}`, or `_store` for the output of a command", "var": "write `_export: {NAME: value}`", "export": "write `_export: {NAME: value}`",
	}
}

// Missing returns where an operator that is not built in here comes from, and what to do; "" if it is unknown.
func Missing(name string) string {
	for _, p := range ofPlugins {
		if name == p.name || strings.HasSuffix(p.name, ".") && strings.HasPrefix(name, p.name) {
			return name + "> belongs to the plugin " + p.plugin + ", which zerodag does not load; use " + p.instead + " (`zerodag docs plugin-operators`)"
		}
	}
	if here := otherNames[strings.ToLower(name)]; here != "" {
		return "it is called " + here + "> here (`zerodag operators " + here + "`)"
	}
	return byCommand()[strings.ToLower(name)]
}

// ParametersOf lists the names that a built-in operator reads, from the tables of its page; nil for an operator for
// which every parameter may have a meaning, such as an argument of a function or a parameter of the tasks that it
// calls.
func ParametersOf(name string) []string {
	switch name {
	case "py", "rb", "call", "require", "param_set":
		return nil
	}
	page, ok := Page(name)
	if !ok {
		return nil
	}
	list := []string{} // not nil: there are no others
	for key := range PageKeys(page) {
		if parameterName.MatchString(key) && key != "parameter" {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// ExportedNames lists the names in an _export that have a meaning for operators: names under which pages describe
// defaults, and names that apply to every command.
func ExportedNames() []string {
	names := []string{"docker", "sandbox", "plugin", "eval", "python", "shell"}
	for _, page := range allPages() {
		_, section, _ := strings.Cut(page, "\n## Parameters\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for line := range strings.Lines(section) {
			if strings.HasPrefix(line, "|") {
				continue
			}
			for _, m := range exported().FindAllStringSubmatch(line, -1) {
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var parameterName = regexp.MustCompile(`^_?[a-z][a-z0-9_.-]*$`)
