"""TensorFlow's MultiWorkerMirroredStrategy, which finds its workers in TF_CONFIG."""
import tensorflow as tf

from place import say

strategy = tf.distribute.MultiWorkerMirroredStrategy()
resolver = strategy.cluster_resolver
with strategy.scope():
    weight = tf.Variable(1.0)


@tf.function
def step():
    def one():
        return tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.SUM, tf.constant(resolver.task_id + 1.0))
    return strategy.run(one)


total = step()
say("tensorflow", tf.__version__, resolver.task_id, strategy.num_replicas_in_sync, float(total))
