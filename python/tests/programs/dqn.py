"""Deep Q-learning in a corridor: replay, a target network that follows, the value of what was done."""
import numpy as np


def corridor(place, right):
    """(next place, reward, whether it ended) in a corridor of six places with a prize at its end."""
    place = min(5, place + 1) if right else max(0, place - 1)
    return place, float(place == 5), place == 5


def main(tf):
    with tf.Graph().as_default(), tf.Session() as session:
        def q(x, name):
            with tf.variable_scope(name):
                init = lambda *s: tf.constant_initializer(np.random.RandomState(sum(s)).uniform(-0.3, 0.3, s).astype(np.float32))
                w = tf.get_variable("w", [6, 12], initializer=init(6, 12))
                v = tf.get_variable("v", [12, 2], initializer=init(12, 2))
                return tf.matmul(tf.tanh(tf.matmul(tf.one_hot(x, 6), w)), v)
        at, action = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
        reward, after, ended = (tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [None]),
                                tf.placeholder(tf.bool, [None]))
        online, target = q(at, "online"), q(after, "target")
        goal = reward + 0.9 * tf.where(ended, tf.zeros_like(reward), tf.reduce_max(target, 1))
        done = tf.gather_nd(online, tf.stack([tf.range(tf.shape(action)[0]), action], 1))
        loss = tf.losses.huber_loss(tf.stop_gradient(goal), done)
        step = tf.train.AdamOptimizer(0.02).minimize(loss)
        pairs = zip(tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "target"),
                    tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "online"))
        follow = tf.group(*[t.assign(0.8 * t + 0.2 * o) for t, o in pairs])
        session.run(tf.global_variables_initializer())
        random, replay, place, losses = np.random.RandomState(4), [], 0, []
        for i in range(120):
            right = int(random.uniform() < 0.6)
            new, prize, over = corridor(place, right)
            replay.append((place, right, prize, new, over))
            place = 0 if over else new
            if i >= 16:
                rows = [replay[j] for j in random.randint(len(replay), size=16)]
                feed = dict(zip((at, action, reward, after, ended), map(list, zip(*rows))))
                losses.append(session.run([loss, step], feed)[0])
                session.run(follow)
        return {"losses": losses, "values": session.run(online, {at: list(range(6))})}
