#!/bin/sh
# install.sh FOLDER: puts Embulk with its plugins for CSV files there, from Maven Central, and
# a program FOLDER/bin/embulk that runs it. What is there already stays as it is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
at=$1
[ ! -x "$at/bin/embulk" ] || exit 0
mkdir -p "$at/bin"
mvn -q -B -f "$here/pom.xml" -Dmaven.repo.local="$at/home/lib/m2/repository" \
  org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$at/lib"
for plugin in input-file:0.11.1 parser-csv:0.11.6 output-file:0.11.1 formatter-csv:0.11.2; do
  mvn -q -B -Dmaven.repo.local="$at/home/lib/m2/repository" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get -Dartifact="org.embulk:embulk-$plugin"
done
cat > "$at/bin/embulk.new" <<END
#!/bin/sh
command=\$1
shift
exec java -cp "$at/lib/*" org.embulk.cli.Main -X embulk_home="$at/home" "\$command" "\$@"
END
chmod +x "$at/bin/embulk.new"
mv "$at/bin/embulk.new" "$at/bin/embulk"
