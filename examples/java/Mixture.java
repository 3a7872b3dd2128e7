import static plimsoll.Plimsoll.*;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.Predicate;

/**
 * Trains a two-layer GCN on the built-in Mixture graph by Adam, 400 nodes sampled at the hidden layer.
 *
 * <pre>java Mixture [epochs] [accuracy]</pre>
 *
 * Training stops early when the validation accuracy reaches the given one. docs/java.md explains the program.
 */
public final class Mixture {
    public static void main(String[] args) throws IOException {
        long epochs = args.length > 0 ? Long.parseLong(args[0]) : 50;
        double enough = args.length > 1 ? Double.parseDouble(args[1]) : Double.POSITIVE_INFINITY;
        long[] sampleSizes = {0, 400}; // draws at each layer's input; 0: exact

        try (Graph graph = new Graph(out -> C.plim_graph_from_mixture(2000, 1 /* seed */, out));
             Model model = model(graph);
             Estimator estimator = new Estimator(out -> C.plim_estimator_consistent(sampleSizes, 2, out));
             Optimizer optimizer = new Optimizer(out -> C.plim_optimizer_adam(0.01, out));
             TrainOptions options = new TrainOptions(out -> C.plim_train_options_new(out))) {
            say("Plimsoll %s: %d nodes, %d edges", C.plim_version(), C.plim_graph_num_nodes(graph),
                C.plim_graph_num_edges(graph));
            check(C.plim_train_options_set_epochs(options, epochs));

            Predicate<Progress> show = p -> {
                if (p.step < p.num_steps) return false; // within a long epoch; nothing is evaluated yet
                boolean stop = p.val_accuracy >= enough;
                if (stop || p.epoch % 10 == 0) {
                    say("epoch %d of %d: loss %.4f, validation accuracy %.2f %%", p.epoch, p.num_epochs, p.train_loss,
                        100 * p.val_accuracy);
                }
                return stop; // true cancels
            };
            try (History history = train(model, graph, estimator, optimizer, options, show)) {
                say("best epoch: %d", C.plim_history_best_epoch(history)); // the model has its parameters now
            } catch (PlimsollException error) {
                if (error.status != PLIM_ERROR_CANCELLED) throw error;
                say("%s", error.getMessage()); // the model has the parameters of the last step
            }
            say("test accuracy: %.2f %%", 100 * testAccuracy(model, graph));
            predict(model, graph, new int[] {0, 2000, 4000});
            saveAndLoad(model, graph);
        }

        int[] sources = {0}, targets = {9}; // there is no node 9
        try (Graph graph = new Graph(out -> C.plim_graph_from_edges(5, 1, sources, targets, null, out))) {
            say("a graph of %d nodes", C.plim_graph_num_nodes(graph));
        } catch (PlimsollException error) {
            say("refused: %s", error.getMessage());
        }
    }

    static Model model(Graph graph) {
        long[] widths = {C.plim_graph_num_features(graph), 16, C.plim_graph_num_classes(graph)};
        return new Model(out -> C.plim_model_gcn(widths, 3, 1 /* seed */, out));
    }

    /** Returns the accuracy on the test nodes. */
    static double testAccuracy(Model model, Graph graph) {
        double[] accuracy = new double[1];
        check(C.plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, null, accuracy));
        return accuracy[0];
    }

    static void predict(Model model, Graph graph, int[] nodes) {
        int classes = (int) C.plim_graph_num_classes(graph);
        float[] probabilities = new float[nodes.length * classes]; // row by row
        check(C.plim_model_predict(model, graph, nodes, nodes.length, probabilities, probabilities.length));
        for (int i = 0; i < nodes.length; i++) {
            int best = 0;
            for (int k = 1; k < classes; k++) {
                if (probabilities[i * classes + k] > probabilities[i * classes + best]) best = k;
            }
            say("node %d: class %d, %.1f %% sure", nodes[i], best, 100 * probabilities[i * classes + best]);
        }
    }

    static void saveAndLoad(Model model, Graph graph) throws IOException {
        Path file = Files.createTempFile("model", ".safetensors");
        try {
            check(C.plim_model_save(model, utf8(file.toString())));
            try (Model loaded = new Model(out -> C.plim_model_load(utf8(file.toString()), out))) {
                say("test accuracy of the saved model: %.2f %%", 100 * testAccuracy(loaded, graph));
            }
        } finally {
            Files.delete(file);
        }
    }

    static void say(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
