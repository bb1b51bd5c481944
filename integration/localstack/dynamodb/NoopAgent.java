/** LocalStack insists on an agent, for tables of more than 20 indexes, which nobody here has. */
public class NoopAgent {
    public static void premain(String arguments, java.lang.instrument.Instrumentation instrumentation) {}
}
