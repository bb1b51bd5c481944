import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Starts DynamoDB Local on 127.0.0.1; its own main class listens on every interface. */
public class LoopbackMain {
    public static void main(String[] args) throws Exception {
        DynamoDBProxyServer s = ServerRunner.createServerFromCommandLineArgs(args);
        var f = DynamoDBProxyServer.class.getDeclaredField("server");
        f.setAccessible(true);
        for (Connector c : ((Server) f.get(s)).getConnectors())
            if (c instanceof ServerConnector) ((ServerConnector) c).setHost("127.0.0.1");
        s.safeStart();
        s.join();
    }
}
