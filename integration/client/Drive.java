import com.google.common.base.Optional;
import io.digdag.client.DigdagClient;
import io.digdag.client.api.Id;
import io.digdag.client.api.LocalTimeOrInstant;
import io.digdag.client.api.RestLogFileHandle;
import io.digdag.client.api.RestProject;
import io.digdag.client.api.RestSchedule;
import io.digdag.client.api.RestSessionAttempt;
import io.digdag.client.api.RestSessionAttemptRequest;
import io.digdag.client.api.RestTask;
import io.digdag.client.api.SessionTimeTruncate;
import io.digdag.client.config.Config;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import javax.ws.rs.WebApplicationException;

/**
 * Drives a server with Digdag's own client library: each part says what it proves and ends
 * the program with a stack trace at the first answer that is not as a Digdag server's.
 * Arguments: host, port, folder with one.tar.gz and two.tar.gz, whether the server runs
 * commands; then a token where one is needed.
 */
public class Drive
{
    private static final Instant SESSION = Instant.parse("2024-02-29T12:34:56Z");
    private static final Instant FROM = Instant.parse("2030-03-09T12:34:56Z");

    private final DigdagClient client;
    private final File folder;
    private final boolean commands; // the server runs them
    private RestProject project;

    private Drive(DigdagClient client, File folder, boolean commands)
    {
        this.client = client;
        this.folder = folder;
        this.commands = commands;
    }

    public static void main(String[] args)
            throws Exception
    {
        DigdagClient.Builder builder = DigdagClient.builder().host(args[0]).port(Integer.parseInt(args[1])).ssl(args[1].equals("443"));
        if (args.length > 4) {
            builder.header("Authorization", "Bearer " + args[4]);
        }
        try (DigdagClient client = builder.build()) {
            Drive drive = new Drive(client, new File(args[2]), Boolean.parseBoolean(args[3]));
            drive.version();
            drive.push();
            drive.secrets();
            drive.attempt();
            drive.conflict();
            drive.retryAndResume();
            drive.kill();
            drive.schedule();
            drive.backfill();
            drive.missing();
            drive.delete();
        }
        System.out.println("all parts passed");
    }

    private void version()
    {
        part("version");
        check(client.getVersion().get("version") != null, "a version");
        check(client.checkClientVersion("0.10.0").getApiCompatible(), "the library is compatible");
    }

    private void push()
            throws Exception
    {
        part("push, revisions, workflows, archive");
        client.putProjectRevision("driven", "r1", new File(folder, "one.tar.gz"), Optional.of(FROM));
        RestProject second = client.putProjectRevision("driven", "r2", new File(folder, "two.tar.gz"), Optional.of(FROM));
        project = client.getProject("driven");
        equal(second.getId(), project.getId(), "id of the project");
        equal("r2", project.getRevision(), "newest revision");
        check(project.getArchiveMd5().isPresent(), "a checksum of the archive");
        equal("driven", client.getProject(project.getId()).getName(), "name by id");
        equal(Arrays.asList("r2", "r1"), client.getRevisions(project.getId(), Optional.absent()).getRevisions().stream()
                .map(r -> r.getRevision()).collect(Collectors.toList()), "revisions, newest first");
        check(client.getProjects().getProjects().stream().anyMatch(p -> p.getName().equals("driven")), "it is listed");
        equal(5, client.getWorkflowDefinitions(project.getId()).getWorkflows().size(), "workflows of the project");
        equal(4, client.getWorkflowDefinitions(project.getId(), "r1").getWorkflows().size(), "workflows of r1");
        check(client.getWorkflowDefinitions().getWorkflows().size() >= 5, "workflows of all projects");
        Id id = client.getWorkflowDefinition(project.getId(), "main").getId();
        equal("r2", client.getWorkflowDefinition(id).getRevision(), "revision of a definition");
        equal("r1", client.getWorkflowDefinition(project.getId(), "main", "r1").getRevision(), "definition of an old revision");
        equal("Asia/Tokyo", client.getWorkflowDefinition(project.getId(), "daily").getTimeZone().getId(), "time zone");
        try (InputStream archive = client.getProjectArchive(project.getId(), "r1")) {
            check(Arrays.equals(Files.readAllBytes(new File(folder, "one.tar.gz").toPath()), bytes(archive)), "the archive comes back as it was");
        }
        Id daily = client.getWorkflowDefinition(project.getId(), "daily").getId();
        LocalTimeOrInstant time = LocalTimeOrInstant.of(LocalDateTime.parse("2024-02-29T12:34:56"));
        equal("2024-02-29T12:34:56+09:00", client.getWorkflowTruncatedSessionTime(daily, time).getSessionTime().toString(), "session time in the zone");
        equal("2024-02-29T00:00+09:00", client.getWorkflowTruncatedSessionTime(daily, time, SessionTimeTruncate.DAY).getSessionTime().toString(), "truncated");
    }

    private void secrets()
    {
        part("secrets");
        client.setProjectSecret(project.getId(), "driven.key", "a secret of the client");
        client.setProjectSecret(project.getId(), "other", "x");
        client.deleteProjectSecret(project.getId(), "other");
        equal(Arrays.asList("driven.key"), client.listProjectSecrets(project.getId()).secrets().stream()
                .map(s -> s.key()).collect(Collectors.toList()), "keys");
    }

    private void attempt()
            throws Exception
    {
        part("start, attempt, session, tasks, logs");
        Config params = client.newConfig().set("who", "the client");
        RestSessionAttempt a = finished(client.startSessionAttempt(request("main", SESSION, params)));
        check(a.getSuccess(), "success of " + client.getTasks(a.getId()).getTasks());
        equal("success", a.getStatus(), "status");
        equal("the client", a.getParams().get("who", String.class), "its parameters");
        equal(SESSION, a.getSessionTime().toInstant(), "its session time");
        check(a.getFinishedAt().isPresent(), "an end");
        List<RestTask> tasks = client.getTasks(a.getId()).getTasks();
        equal(Arrays.asList("+main", "+main+hello", "+main+secret", "+main+store"), tasks.stream().map(t -> t.getFullName()).collect(Collectors.toList()), "tasks");
        check(tasks.stream().allMatch(t -> t.getState().equals("success")), "all succeeded");
        equal(tasks.get(0).getId(), tasks.get(1).getParentId().get(), "parent");
        equal(Arrays.asList(tasks.get(1).getId()), tasks.get(2).getUpstreams(), "upstreams");
        equal("hello the client", log(a.getId(), "+main+hello"), "log");
        if (commands) {
            equal("****", log(a.getId(), "+main+secret"), "a secret in a log");
        }
        check(client.getLogFileHandlesOfAttempt(a.getId()).getFiles().size() >= 2, "log files");
        equal(a.getSessionUuid(), client.getSession(a.getSessionId()).getSessionUuid(), "session");
        equal(a.getId(), client.getSession(a.getSessionId()).getLastAttempt().get().getId(), "last attempt of the session");
        equal(1, client.getSessions(project.getId()).getSessions().size(), "sessions of the project");
        equal(1, client.getSessions(project.getId(), "main").getSessions().size(), "sessions of the workflow");
        check(client.getSessions().getSessions().size() >= 1, "all sessions");
        equal(1, client.getSessionAttempts(a.getSessionId(), Optional.absent(), Optional.of(10)).getAttempts().size(), "attempts of the session");
        equal(1, client.getSessionAttempts("driven", Optional.absent()).getAttempts().size(), "attempts of the project");
        equal(0, client.getSessionAttempts("driven", "main", Optional.of(a.getId())).getAttempts().size(), "attempts before the first");
    }

    private void conflict()
    {
        part("a session is started once");
        refused(409, () -> client.startSessionAttempt(request("main", SESSION, client.newConfig())));
    }

    private void retryAndResume()
            throws Exception
    {
        part("retry and resume");
        RestSessionAttempt first = finished(client.startSessionAttempt(request("flaky", SESSION, client.newConfig().set("fail", true))));
        check(!first.getSuccess(), "the first attempt fails");
        RestSessionAttemptRequest again = RestSessionAttemptRequest.builder().from(request("flaky", SESSION, client.newConfig().set("fail", false)))
                .retryAttemptName("again").resume(RestSessionAttemptRequest.ResumeFailed.of(first.getId())).build();
        RestSessionAttempt second = finished(client.startSessionAttempt(again));
        check(second.getSuccess(), "the second one succeeds");
        equal(2, second.getIndex(), "index");
        equal("again", second.getRetryAttemptName().get(), "name");
        equal(first.getSessionId(), second.getSessionId(), "session");
        equal("", log(second.getId(), "+flaky+before"), "what succeeded is not run again");
        equal(Arrays.asList(1, 2), client.getSessionAttemptRetries(second.getId()).getAttempts().stream().map(a -> a.getIndex()).collect(Collectors.toList()), "retries");
        RestSessionAttempt third = finished(client.startSessionAttempt(RestSessionAttemptRequest.builder()
                .from(request("flaky", SESSION, client.newConfig().set("fail", false))).retryAttemptName("from")
                .resume(RestSessionAttemptRequest.ResumeFrom.of(second.getId(), "+before")).build()));
        equal("before", log(third.getId(), "+flaky+before"), "from a task on all run again");
    }

    private void kill()
            throws Exception
    {
        part("kill");
        RestSessionAttempt a = client.startSessionAttempt(request("long", SESSION, client.newConfig()));
        equal("running", a.getStatus(), "status");
        client.killSessionAttempt(a.getId());
        a = finished(a);
        check(a.getCancelRequested() && !a.getSuccess(), "it was killed");
        equal("killed", a.getStatus(), "status");
        Id id = a.getId();
        refused(409, () -> client.killSessionAttempt(id));
    }

    private void schedule()
    {
        part("schedules: list, skip, disable, enable");
        RestSchedule s = client.getSchedule(project.getId(), "daily");
        equal(Instant.parse("2030-03-09T22:00:00Z"), s.getNextRunTime(), "next run");
        equal("2030-03-10T00:00+09:00", s.getNextScheduleTime().toString(), "next session");
        equal(s.getId(), client.getSchedule(s.getId()).getId(), "by id");
        equal(1, client.getSchedules(project.getId(), Optional.absent()).getSchedules().size(), "schedules of the project");
        equal(1, client.getSchedules().getSchedules().size(), "all schedules");
        Instant twelfth = Instant.parse("2030-03-12T00:00:00Z");
        equal("2030-03-13T00:00+09:00", client.skipSchedulesToTime(s.getId(), twelfth, Optional.absent(), true).getNextScheduleTime().toString(), "dry skip");
        equal("2030-03-10T00:00+09:00", client.getSchedule(s.getId()).getNextScheduleTime().toString(), "it was dry");
        equal("2030-03-12T00:00+09:00", client.skipSchedulesToTime(s.getId(), LocalDateTime.parse("2030-03-12T00:00:00"), Optional.absent(), false)
                .getNextScheduleTime().toString(), "skip to a local time");
        equal("2030-03-15T00:00+09:00", client.skipSchedulesByCount(s.getId(), twelfth, 2, Optional.of(FROM), false).getNextScheduleTime().toString(), "skip by count");
        equal(FROM, client.getSchedule(s.getId()).getNextRunTime(), "the run time that was asked for");
        refused(409, () -> client.skipSchedulesToTime(s.getId(), twelfth, Optional.absent(), false));
        check(client.disableSchedule(s.getId()).getDisabledAt().isPresent(), "disabled");
        check(client.getSchedule(s.getId()).getDisabledAt().isPresent(), "still disabled");
        check(!client.enableSchedule(s.getId()).getDisabledAt().isPresent(), "enabled");
        client.disableSchedule(s.getId());
        equal("2030-04-01T00:00+09:00", client.enableSchedule(s.getId(), true, Optional.of("2030-04-01T00:00:00")).getNextScheduleTime().toString(), "enabled later on");
    }

    private void backfill()
            throws Exception
    {
        part("backfill");
        Id id = client.getSchedule(project.getId(), "daily").getId();
        Instant from = Instant.parse("2030-03-01T00:00:00Z");
        equal(3, client.backfillSchedule(id, from, "dry", Optional.of(3), true).getAttempts().size(), "dry run");
        List<RestSessionAttempt> attempts = client.backfillSchedule(id, from, "filled", Optional.of(2), false).getAttempts();
        equal(2, attempts.size(), "attempts");
        for (RestSessionAttempt a : attempts) {
            RestSessionAttempt done = finished(a);
            check(done.getSuccess(), "success of " + a.getSessionTime());
            equal("filled", done.getRetryAttemptName().get(), "name");
        }
        refused(409, () -> client.backfillSchedule(id, from, "filled", Optional.of(1), false));
        refused(400, () -> client.backfillSchedule(id, from, "too-many", Optional.of(1000), false));
    }

    private void missing()
    {
        part("what is not there is 404");
        Id none = Id.of("999999");
        refused(404, () -> client.getProject("nobody"));
        refused(404, () -> client.getProject(none));
        refused(404, () -> client.getWorkflowDefinition(none));
        refused(404, () -> client.getWorkflowDefinition(project.getId(), "nothing"));
        refused(404, () -> client.getSessionAttempt(none));
        refused(404, () -> client.getSession(none));
        refused(404, () -> client.getSchedule(none));
        refused(404, () -> client.killSessionAttempt(none));
        refused(404, () -> client.getProjectArchive(project.getId(), "nothing"));
        refused(404, () -> client.startSessionAttempt(RestSessionAttemptRequest.builder().workflowId(none).sessionTime(SESSION).params(client.newConfig()).build()));
        refused(409, () -> client.putProjectRevision("driven", "r1", new File(folder, "one.tar.gz")));
    }

    private void delete()
    {
        part("delete");
        client.deleteProject(project.getId());
        refused(404, () -> client.getProject(project.getId()));
        refused(404, () -> client.getProject("driven"));
        equal(0, client.getSchedules().getSchedules().size(), "its schedule is gone");
    }

    private RestSessionAttemptRequest request(String workflow, Instant session, Config params)
    {
        return RestSessionAttemptRequest.builder().workflowId(client.getWorkflowDefinition(project.getId(), workflow).getId())
                .sessionTime(session).params(params).build();
    }

    private RestSessionAttempt finished(RestSessionAttempt started)
            throws InterruptedException
    {
        await(() -> client.getSessionAttempt(started.getId()).getDone(), "the end of attempt " + started.getId());
        return client.getSessionAttempt(started.getId());
    }

    /** Text that a task wrote; lines of the engine are left out. */
    private String log(Id attempt, String task)
            throws Exception
    {
        StringBuilder text = new StringBuilder();
        for (RestLogFileHandle file : client.getLogFileHandlesOfTask(attempt, task).getFiles()) {
            try (InputStream in = client.getLogFile(attempt, file); GZIPInputStream plain = new GZIPInputStream(in)) {
                text.append(new String(bytes(plain), StandardCharsets.UTF_8));
            }
        }
        return Arrays.stream(text.toString().split("\n")).filter(line -> !line.matches("\\d{4}-\\d\\d-\\d\\d .*"))
                .collect(Collectors.joining("\n"));
    }

    private static byte[] bytes(InputStream in)
            throws Exception
    {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[8192];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            out.write(buffer, 0, n);
        }
        return out.toByteArray();
    }

    private static void await(BooleanSupplier reached, String what)
            throws InterruptedException
    {
        for (long end = System.nanoTime() + 30_000_000_000L; !reached.getAsBoolean(); Thread.sleep(20)) {
            check(System.nanoTime() < end, what);
        }
    }

    private interface Call
    {
        void run()
                throws Exception;
    }

    private static void refused(int status, Call call)
    {
        try {
            call.run();
        }
        catch (WebApplicationException e) {
            equal(status, e.getResponse().getStatus(), "status of the refusal");
            return;
        }
        catch (Exception e) {
            throw new AssertionError("refused otherwise than with " + status, e);
        }
        throw new AssertionError("not refused with " + status);
    }

    private static void part(String name)
    {
        System.out.println("- " + name);
    }

    private static void check(boolean holds, String what)
    {
        if (!holds) {
            throw new AssertionError("not so: " + what);
        }
    }

    private static void equal(Object want, Object got, String what)
    {
        if (!want.equals(got)) {
            throw new AssertionError(what + ": " + got + ", want " + want);
        }
    }
}
