# Made by `make release-snapshot`.{{if not .URL}} Set HOMEBREW_ZERODAG_URL to where the archives of the release are.{{end}}
class Zerodag < Formula
  desc "Workflow engine for the Digdag language, with schedules, retries and an API"
  homepage "https://docs.digdag.io"
  version "{{.Version}}"
  license "Apache-2.0"
{{range $target, $sum := .Sums}}
  if OS.{{if eq (slice $target 0 5) "linux"}}linux?{{else}}mac?{{end}} && Hardware::CPU.{{if eq $target "linux_arm64" "darwin_arm64"}}arm?{{else}}intel?{{end}}
    url "#{ENV.fetch("HOMEBREW_ZERODAG_URL"{{if $.URL}}, "{{$.URL}}"{{end}})}/zerodag_{{$.Version}}_{{$target}}.tar.gz"
    sha256 "{{$sum}}"
  end
{{end}}
  def install
    bin.install "zerodag"
    man1.install "zerodag.1.gz"
    bash_completion.install "completions/zerodag.bash" => "zerodag"
    zsh_completion.install "completions/_zerodag"
    fish_completion.install "completions/zerodag.fish"
  end

  service do
    run [opt_bin/"zerodag", "server", "-o", var/"zerodag"]
    keep_alive crashed: true
    log_path var/"log/zerodag.log"
    error_log_path var/"log/zerodag.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/zerodag --version")
  end
end
