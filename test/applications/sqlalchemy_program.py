"""What SQLAlchemy does with tables on several nodes; DSN says where."""

import os
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    mapped_column,
    relationship,
    selectinload,
)


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(), primary_key=True)
    name: Mapped[str]
    doc: Mapped[Any] = mapped_column(JSONB)
    orders: Mapped[list["Order"]] = relationship(
        back_populates="customer", cascade="all, delete-orphan", passive_deletes=True
    )


class Order(Base):
    """Foreign keys are declared: they are on the nodes, where reflection does not see them."""

    __tablename__ = "orders"
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customer.id"), primary_key=True)
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Sequence("orders_id_seq"), primary_key=True)
    kind_id: Mapped[int | None]
    customer: Mapped[Customer] = relationship(back_populates="orders")


class Item(Base):
    """A foreign table has no primary key here; the model says which columns are it."""

    __tablename__ = "item"
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Sequence("item_id"), primary_key=True)
    name: Mapped[str]


def use_objects(session: Session) -> None:
    customers = [Customer(name=f"s{n}", orders=[Order() for _ in range(3)]) for n in range(10)]
    session.add_all([*customers, *(Item(name=f"i{n}") for n in range(20))])
    session.commit()
    found = session.scalars(sa.select(Customer).options(selectinload(Customer.orders))).all()
    assert sum(len(one.orders) for one in found) == 30
    customers[0].name = "changed"
    session.delete(customers[1])
    session.commit()
    session.expire_all()
    assert customers[0].name == "changed"
    assert session.scalar(sa.select(sa.func.count()).select_from(Order)) == 27
    locked = sa.select(Item).where(Item.name == "i3").with_for_update(skip_locked=True)
    session.scalars(locked).one().name = "item 3"
    session.commit()


def write_many(session: Session) -> None:
    values = [{"name": f"bulk {n}"} for n in range(1500)]
    ordered = sa.insert(Customer).returning(Customer.name, sort_by_parameter_order=True)
    assert session.scalars(ordered, values).all() == [one["name"] for one in values]
    upsert = insert(Customer).values([{"id": 1, "name": "up"}, {"id": 9000, "name": "new"}])
    document = sa.func.jsonb_build_object("name", upsert.excluded.name)
    upsert = upsert.on_conflict_do_update(index_elements=[Customer.id], set_={"doc": document})
    assert set(session.scalars(upsert.returning(Customer.doc["name"]))) == {"up", None}
    try:
        with session.begin_nested():
            session.add(Order(customer_id=-1))
    except sa.exc.IntegrityError as error:
        assert error.orig.diag.constraint_name == "orders_customer_id_fkey"
    session.commit()
    many = sa.select(Customer.id).execution_options(yield_per=100)
    assert sum(1 for _ in session.execute(many)) == 1510


def reflect(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    assert sorted(inspector.get_table_names()) == ["customer", "kind", "orders"]
    assert inspector.get_foreign_table_names() == ["item"]
    assert inspector.get_pk_constraint("orders")["constrained_columns"] == ["customer_id", "id"]
    assert inspector.get_pk_constraint("item")["constrained_columns"] == []
    assert inspector.get_foreign_keys("orders") == []
    found = sa.MetaData()
    found.reflect(engine)
    assert found.tables["orders"].foreign_keys == set()


def prepare(engine: sa.Engine) -> None:
    """A part of a transaction over several databases."""
    with engine.connect() as connection:
        for ends, count in (("commit", 1), ("rollback", 1)):
            transaction = connection.begin_twophase()
            connection.execute(sa.insert(Item).values(name=ends))
            transaction.prepare()
            getattr(transaction, ends)()
            found = sa.select(sa.func.count()).where(Item.name.in_(["commit", "rollback"]))
            assert connection.scalar(found) == count
            connection.rollback()


engine = sa.create_engine(os.environ["DSN"].replace("postgresql:", "postgresql+psycopg:"))
with Session(engine) as opened:
    use_objects(opened)
    write_many(opened)
reflect(engine)
prepare(engine)
print("ok")
