import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Starts DynamoDB Local on 127.0.0.1, until LocalStack ends; its own main class listens on every interface. */
public class LoopbackMain {
    public static void main(String[] args) throws Exception {
        DynamoDBProxyServer s = ServerRunner.createServerFromCommandLineArgs(args);
        var f = DynamoDBProxyServer.class.getDeclaredField("server");
        f.setAccessible(true);
        for (Connector c : ((Server) f.get(s)).getConnectors())
            if (c instanceof ServerConnector) ((ServerConnector) c).setHost("127.0.0.1");
        ProcessHandle.current().parent().ifPresent(p -> p.onExit().thenRun(() -> Runtime.getRuntime().halt(0)));
        s.safeStart();
        s.join();
    }
}
